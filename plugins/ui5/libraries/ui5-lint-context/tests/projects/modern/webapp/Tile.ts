import Control from "sap/ui/core/Control";
import RenderManager from "sap/ui/core/RenderManager";

/**
 * @namespace my.modern
 */
export default class Tile extends Control {
	renderer = {
		apiVersion: 2,
		render(rm: RenderManager, control: Tile): void {
			rm.openStart("div", control).openEnd().close("div");
		}
	};
}
