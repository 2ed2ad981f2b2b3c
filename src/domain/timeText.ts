import { Schema } from "effect"

/** A time, described as the RFC 3339 text that it is in requests and answers. */
export const timeText = (description: string) =>
  Schema.String.annotate({ description }).pipe(Schema.decodeTo(Schema.DateTimeUtcFromString))

/** Longer than any RFC 3339 time. */
const MAX_TIME = 64
/** With an offset: without one, a time is another moment in each time zone. `Date` writes years from 10000 on with six digits. */
const TIME = /^(?:[+-]\d\d)?\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/

/** A time that a caller gives. */
export const time = (description: string) =>
  Schema.String.check(
    Schema.isMaxLength(MAX_TIME),
    Schema.isPattern(TIME, { expected: "an RFC 3339 time, such as 2026-11-20T09:30:00Z" }),
  )
    .annotate({ description })
    .pipe(Schema.decodeTo(Schema.DateTimeUtcFromString))
