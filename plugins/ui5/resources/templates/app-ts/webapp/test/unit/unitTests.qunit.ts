// All unit tests: import a new one here.
import "./controller/Main.qunit";
