import { Schema } from "effect"

/** A time, described as the RFC 3339 text that it is in requests and answers. */
export const timeText = (description: string) =>
  Schema.String.annotate({ description }).pipe(Schema.decodeTo(Schema.DateTimeUtcFromString))
