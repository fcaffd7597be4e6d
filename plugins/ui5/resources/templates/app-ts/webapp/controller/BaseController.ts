import Controller from "sap/ui/core/mvc/Controller";
import UIComponent from "sap/ui/core/UIComponent";
import Router from "sap/ui/core/routing/Router";
import History from "sap/ui/core/routing/History";
import Model from "sap/ui/model/Model";
import ResourceModel from "sap/ui/model/resource/ResourceModel";
import ResourceBundle from "sap/base/i18n/ResourceBundle";
import AppComponent from "../Component";

/**
 * What the controllers of this app have in common.
 *
 * @namespace [= id =].controller
 */
export default abstract class BaseController extends Controller {
	/**
	 * The component, as its own type.
	 */
	public getOwnerComponent(): AppComponent {
		return super.getOwnerComponent() as AppComponent;
	}

	public getRouter(): Router {
		return UIComponent.getRouterFor(this);
	}

	/**
	 * The texts of the app in the language of the user.
	 */
	public async getResourceBundle(): Promise<ResourceBundle> {
		const model = this.getOwnerComponent().getModel("i18n") as ResourceModel;
		return await model.getResourceBundle();
	}

	/**
	 * A model of the view.
	 *
	 * @param [name] that of the model; the default model without it
	 */
	public getModel(name?: string): Model | undefined {
		return this.getView()?.getModel(name);
	}

	/**
	 * Gives the view a model.
	 *
	 * @param model the model
	 * @param [name] that of the model; the default model without it
	 */
	public setModel(model: Model, name?: string): this {
		this.getView()?.setModel(model, name);
		return this;
	}

	/**
	 * Goes back to where the user came from within the app, or to its start.
	 */
	public onNavBack(): void {
		if (History.getInstance().getPreviousHash() !== undefined) {
			window.history.go(-1);
		} else {
			this.getRouter().navTo("main", {}, undefined, true);
		}
	}
}
