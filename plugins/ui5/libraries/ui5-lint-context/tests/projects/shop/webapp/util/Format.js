jQuery.sap.declare("my.shop.util.Format");
my.shop.util.Format = {
	amount: function (value) {
		return value;
	}
};
