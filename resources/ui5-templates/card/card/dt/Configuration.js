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
					}[= "," if card_type in ["List", "Table", "Timeline"] or destinations else "" =]
[% if card_type in ["List", "Table", "Timeline"] %]
					maxItems: {
						manifestpath: "/sap.card/content/maxItems",
						type: "integer",
						label: "{i18n>editMaxItems}"
					}[= "," if destinations else "" =]
[% endif %]
[% for destination in destinations %]
					"destination[= loop.index =]": {
						manifestpath: "/sap.card/configuration/destinations/[= destination.name =]/name",
						type: "destination",
						label: "[= destination.name =]"
					}[= "," if not loop.last else "" =]
[% endfor %]
				}
			},
			preview: {
				modes: "LiveAbstract"
			}
		});
	};
});
