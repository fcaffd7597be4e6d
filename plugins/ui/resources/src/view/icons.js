// The icons of view specifications: paths in a box of 24 by 24.

const CIRCLE = "M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z";

/** The icons by their names, which are those of `Icon` in view.schema.json. */
export const ICONS = {
	check: "M5 13l4.5 4.5L19 7.5",
	cross: "M6 6l12 12M18 6L6 18",
	info: `${CIRCLE}M12 11v6M12 7.2v.1`,
	warning: "M12 4L2.5 20h19zM12 10v4.500M12 17.200v.1",
	error: `${CIRCLE}M9 9l6 6M15 9l-6 6`,
	star: "M12 3.500l2.6 5.4 5.9.8-4.3 4.1 1 5.900L12 16.900l-5.2 2.8 1-5.900L3.5 9.700l5.9-.8z",
	heart: "M12 20S4 15 4 9.500A4.2 4.2 0 0 1 12 7.6 4.2 4.2 0 0 1 20 9.500C20 15 12 20 12 20z",
	clock: `${CIRCLE}M12 7v5l3.5 2`,
	calendar: "M4 6h16v14H4zM4 10.500h16M8 3.500V7M16 3.500V7",
	place: "M12 21s-6.5-6-6.5-11a6.5 6.5 0 0 1 13 0c0 5-6.5 11-6.5 11zM14.5 10a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z",
	person: "M16 8a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM4.5 20.500c0-4 3.4-6 7.5-6s7.5 2 7.5 6",
	mail: "M3 6h18v12H3zM3 7l9 6.500L21 7",
	link: "M10 14a4 4 0 0 0 5.7 0l3.2-3.200a4 4 0 0 0-5.7-5.700L12 6.300M14 10a4 4 0 0 0-5.7 0l-3.2 3.200a4 4 0 0 0 5.7 5.700L12 17.7",
	file: "M6 3h8l4 4v14H6zM14 3v4h4",
	folder: "M3 6h6l2 2.500h10V19H3z",
	search: "M17 11a6 6 0 1 1-12 0 6 6 0 0 1 12 0zM15.5 15.500l5 5",
	lock: "M6 11h12v9.500H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
	download: "M12 4v11M7.5 11l4.5 4.5 4.5-4.500M4.5 20h15",
	up: "M12 19V5M6 11l6-6 6 6",
	down: "M12 5v14M6 13l6 6 6-6",
	left: "M19 12H5M11 6l-6 6 6 6",
	right: "M5 12h14M13 6l6 6-6 6",
	sun: "M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.600L7 7M17 17l1.4 1.400M18.4 5.600L17 7M7 17l-1.4 1.4",
	cloud: "M7 18.500a4.5 4.5 0 0 1-.5-9 5.5 5.5 0 0 1 10.6 1.1 4 4 0 0 1-.1 7.900z",
	rain: "M7 15a4 4 0 0 1-.5-8 5.5 5.5 0 0 1 10.6 1.100A3.5 3.5 0 0 1 17 15zM8 18l-1 3M12.5 18l-1 3M17 18l-1 3"
};
