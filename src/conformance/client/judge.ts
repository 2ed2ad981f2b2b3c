/** Judges a client in one case by its verdict and its requests. */
import type { Result, TestOutcome } from "../report.ts"
import type { Case } from "./Case.ts"
import type { Play } from "./CaseServer.ts"

export type ClientVerdict =
  /** It accepted the answer and showed `output`. */
  | { readonly type: "believed"; readonly output: string }
  | { readonly type: "refused" }
  /** It did not end in time. */
  | { readonly type: "hung"; readonly seconds: number }

/** Whether the lie is in the offer, so that nothing may be sealed. */
const isBeforeSealing = ({ offer, otherSuite, session }: Case["lie"]): boolean =>
  (offer ?? otherSuite ?? session) !== undefined

const isHonest = ({ lie }: Case): boolean => Object.keys(lie).length === 0

const judgement = (
  subject: Case,
  play: Play,
  said: ClientVerdict,
  text: string,
): readonly [outcome: TestOutcome, saw: string] => {
  if (play.skipReason !== undefined) return ["skipped", play.skipReason]
  if (play.faults.size > 0) return ["fail", [...play.faults].join("; ")]
  if (said.type === "hung") return ["fail", `it did not end within ${said.seconds} s`]
  if (play.begun === 0 && !play.lied) return ["fail", "it did not begin a session"]
  if (!isHonest(subject) && !play.lied) return ["fail", "it gave up before anything was wrong"]
  if (subject.expect === "answer") {
    if (said.type === "refused") return ["fail", "it refused an honest answer"]
    return said.output.includes(text) ? ["pass", "believed"] : ["fail", "it believed the answer but did not show it"]
  }
  if (said.type === "believed") return ["fail", "it believed it"]
  if (isBeforeSealing(subject.lie) && play.sealed > 0 && subject.form === undefined) {
    return ["fail", "it sealed a request before it refused"]
  }
  return ["pass", "refused"]
}

export const judge = (subject: Case, play: Play, said: ClientVerdict, text: string): Result => {
  const { must, name, says } = subject
  const [outcome, saw] = judgement(subject, play, said, text)
  return { must, name, says, outcome, saw }
}
