/**
 * The time limit of a request as a moment. Whatever waits on its way waits no longer than that, so nothing has to race
 * against the whole of it.
 */
import { Data } from "effect"

/** The time of the request is over. It says nothing about the target that was being called. */
export class OutOfTime extends Data.TaggedError("OutOfTime") {}
