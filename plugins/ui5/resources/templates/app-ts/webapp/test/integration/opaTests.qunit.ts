// All integration tests: import a new journey here.
import "./HelloJourney";
