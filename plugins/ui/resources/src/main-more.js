// The runtime of pages whose tool may need more than most do.

import "./more.js";
import "./main.js";
