/**
 * The time limit of a request as a moment. Each wait on its way ends by then, so nothing has to race against the whole
 * request.
 */
import { Data } from "effect"

/** The request ran out of time. This says nothing about the target that was being called. */
export class OutOfTime extends Data.TaggedError("OutOfTime") {}
