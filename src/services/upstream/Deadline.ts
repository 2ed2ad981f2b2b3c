/** The time limit of a request as a moment by which each wait ends, so nothing races against the whole request. */
import { Data } from "effect"

/** The request ran out of time. This says nothing about the target that was being called. */
export class OutOfTime extends Data.TaggedError("OutOfTime") {}
