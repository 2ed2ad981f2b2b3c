import type { ProblemCodes } from "../problems.ts"

/** What the proxy alone has to say before a request is opened, by the operations that say it. */
export const PROXY_PROBLEMS: ProblemCodes = {
  completions: { unopenable: 400, replayed: 409, "session-gone": 410 },
}
