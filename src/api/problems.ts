/** Refusals that any request to either server may get. Those of single endpoints are declared with their group. */
import { HttpApiMiddleware } from "effect/http-api"
import { Refusal } from "../domain/problems/refusal.ts"

export class Malformed extends Refusal<Malformed>()("Malformed", {
  code: "malformed",
  status: 400,
  title: "The request does not have the expected shape.",
}) {}

export class CrossOrigin extends Refusal<CrossOrigin>()("CrossOrigin", {
  code: "cross-origin",
  status: 403,
  title: "A web page of another origin sent this request.",
}) {}

export class NotFound extends Refusal<NotFound>()("NotFound", {
  code: "not-found",
  status: 404,
  title: "There is nothing at this path.",
}) {}

export class MethodNotAllowed extends Refusal<MethodNotAllowed>()("MethodNotAllowed", {
  code: "method-not-allowed",
  status: 405,
  title: "This path does not take that method.",
}) {}

export class TimedOut extends Refusal<TimedOut>()("TimedOut", {
  code: "timeout",
  status: 408,
  title: "The request took too long to arrive.",
  headers: { connection: "close" },
}) {}

export class LengthRequired extends Refusal<LengthRequired>()("LengthRequired", {
  code: "length-required",
  status: 411,
  title: "The request body does not announce its length.",
  detail: "Send Content-Length instead of Transfer-Encoding.",
  headers: { connection: "close" },
}) {}

export class TooLarge extends Refusal<TooLarge>()("TooLarge", {
  code: "too-large",
  status: 413,
  title: "The request body is too large.",
  headers: { connection: "close" },
}) {}

export class UnsupportedMediaType extends Refusal<UnsupportedMediaType>()("UnsupportedMediaType", {
  code: "unsupported-media-type",
  status: 415,
  title: "The request body has the wrong content type or coding.",
  detail: "Send application/json.",
}) {}

export class Misdirected extends Refusal<Misdirected>()("Misdirected", {
  code: "misdirected",
  status: 421,
  title: "This server does not answer under that name.",
}) {}

export class TooManyRequests extends Refusal<TooManyRequests>()("TooManyRequests", {
  code: "rate-limited",
  status: 429,
  title: "Too many requests.",
}) {}

export class Internal extends Refusal<Internal>()("Internal", {
  code: "internal",
  status: 500,
  title: "Something went wrong here.",
  detail: "It is not your request's fault. The operator finds the details in the server's log.",
  retryable: false,
}) {}

export class Draining extends Refusal<Draining>()("Draining", {
  code: "draining",
  status: 503,
  title: "The server is shutting down.",
  detail: "Send the request to another instance, or here again in a moment.",
}) {}

export const BODY_PROBLEMS = [TooLarge, UnsupportedMediaType] as const

/** Answers with the declared refusals of an endpoint, and with those for the head of any request. */
export class Refusals extends HttpApiMiddleware.Service<Refusals>()("sealgate/api/problems/Refusals", {
  error: [Malformed, CrossOrigin, Misdirected, TooManyRequests],
}) {}
