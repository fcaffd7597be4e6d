// The larger runtime, for pages of tools that may need more than the usual runtime.

import "./more.js";
import "./main.js";
