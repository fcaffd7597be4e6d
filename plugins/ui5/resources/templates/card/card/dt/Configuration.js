sap.ui.define([
	"sap/ui/integration/Designtime"
], function (Designtime) {
	"use strict";

	/**
	 * What can be configured of the card without a change of its manifest.
	 */
	return function () {
		return new Designtime({
			form: {
				items: {
					header: {
						type: "group",
						label: "{i18n>editHeader}"
					},
					title: {
						manifestpath: "/sap.card/header/title",
						type: "string",
						translatable: true,
						label: "{i18n>editTitle}"
					},
					subtitle: {
						manifestpath: "/sap.card/header/subtitle",
						type: "string",
						translatable: true,
						label: "{i18n>editSubtitle}"
					}[= "," if card_type in ["List", "Table", "Timeline"] else "" =]
[% if card_type in ["List", "Table", "Timeline"] %]
					maxItems: {
						manifestpath: "/sap.card/content/maxItems",
						type: "integer",
						label: "{i18n>editMaxItems}"
					}
[% endif %]
				}
			},
			preview: {
				modes: "LiveAbstract"
			}
		});
	};
});
