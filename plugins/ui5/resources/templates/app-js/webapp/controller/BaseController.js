sap.ui.define([
	"sap/ui/core/mvc/Controller",
	"sap/ui/core/UIComponent",
	"sap/ui/core/routing/History"
], function (Controller, UIComponent, History) {
	"use strict";

	/**
	 * What the controllers of this app have in common.
	 */
	return Controller.extend("[= id =].controller.BaseController", {
		/**
		 * @returns {sap.ui.core.routing.Router} the router of the app
		 */
		getRouter() {
			return UIComponent.getRouterFor(this);
		},

		/**
		 * @returns {Promise<sap.base.i18n.ResourceBundle>} the texts of the app in the language of the user
		 */
		async getResourceBundle() {
			return this.getOwnerComponent().getModel("i18n").getResourceBundle();
		},

		/**
		 * @param {string} [name] that of the model; the default model without it
		 * @returns {sap.ui.model.Model|undefined} a model of the view
		 */
		getModel(name) {
			return this.getView().getModel(name);
		},

		/**
		 * Gives the view a model.
		 *
		 * @param {sap.ui.model.Model} model the model
		 * @param {string} [name] that of the model; the default model without it
		 * @returns {this} itself
		 */
		setModel(model, name) {
			this.getView().setModel(model, name);
			return this;
		},

		/**
		 * Goes back to where the user came from within the app, or to its start.
		 */
		onNavBack() {
			if (History.getInstance().getPreviousHash() !== undefined) {
				window.history.go(-1);
			} else {
				this.getRouter().navTo("main", {}, undefined, true);
			}
		}
	});
});
