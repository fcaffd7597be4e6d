sap.ui.define([], function () {
	"use strict";

	/**
	 * Functions that views and controllers use to show values.
	 */
	return {
		/**
		 * Makes the first letter a capital one.
		 *
		 * @param {string} [text] what to show; nothing counts as ""
		 * @returns {string} the text with a capital
		 */
		capitalize(text) {
			return text ? text.charAt(0).toUpperCase() + text.slice(1) : "";
		}
	};
});
