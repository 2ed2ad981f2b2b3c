/** Refusals of sessions and of sealed requests that cannot be opened (sealed protocol §7). */
import { Refusal } from "../../domain/problems/refusal.ts"
import { SUITES } from "../../domain/protocol/suites.ts"

export class NoCommonSuite extends Refusal<NoCommonSuite>()("NoCommonSuite", {
  code: "no-common-suite",
  status: 400,
  title: "None of the offered suites is supported here.",
  detail: `Supported are ${SUITES.map(({ id, name }) => `${JSON.stringify(id)} (${name})`).join(" and ")}.`,
}) {}

/** The same refusal for every failure to open, because the reason would help an attacker. */
export class RequestUnopenable extends Refusal<RequestUnopenable>()("RequestUnopenable", {
  code: "unopenable",
  status: 400,
  title: "The sealed request could not be opened.",
  detail: "It was not sealed to this session, or it was changed on the way.",
}) {}

export class RequestReplayed extends Refusal<RequestReplayed>()("RequestReplayed", {
  code: "replayed",
  status: 409,
  title: "This request came before, and may have been served.",
  detail: "Its bytes were sent twice, or its HPKE context used twice. Seal it again only if it may be served twice.",
}) {}

export class NoSession extends Refusal<NoSession>()("NoSession", {
  code: "session-gone",
  status: 410,
  title: "There is no such session any more.",
  detail: "It expired, was used up, or never existed. Begin a new one with POST /v1/init and seal again.",
  retryable: true,
  headers: {},
}) {}

/** The proxy remembers every served request for as long as it could be replayed. */
export class Overloaded extends Refusal<Overloaded>()("Overloaded", {
  code: "overloaded",
  status: 503,
  title: "The proxy has as many requests as it can keep.",
  detail: "It keeps each in memory until it is answered, and remembers it until its session expires; try again later.",
}) {}
