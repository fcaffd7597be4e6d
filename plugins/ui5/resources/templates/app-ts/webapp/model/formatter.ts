/**
 * Functions that views and controllers use to show values.
 */
export default {
	/**
	 * Makes the first letter a capital one.
	 *
	 * @param [text] what to show; nothing counts as ""
	 */
	capitalize(this: void, text?: string | null): string {
		return text ? text.charAt(0).toUpperCase() + text.slice(1) : "";
	}
};
