// What hosts gave to clients lately, which nobody but their principals may use.

const KEPT = 60;

/** Sessions, tasks, and questions with their answers: each with the principal that has it. */
export const given = { sessions: [], tasks: [], questions: [] };

/** Notes that a host gave something to a principal. */
export function noteGiven(kind, principal, what) {
	given[kind].push({ owner: principal.subject, what });
	if (given[kind].length > KEPT) {
		given[kind].shift();
	}
}
