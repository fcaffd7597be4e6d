sap.ui.controller("my.shop.controller.Main", {
	onInit: function () {
		jQuery.sap.require("sap.m.MessageBox");
		var oButton = new sap.m.Button({ text: "OK" });
		oButton.placeAt("content");
		my.shop.util.Format.amount(1);
		sap.ui.getCore().getLibraryResourceBundle("sap.m");
	}
});
