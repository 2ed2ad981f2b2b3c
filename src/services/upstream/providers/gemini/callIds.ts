/** Ids of function calls. The API may leave them out, and then matches calls by name and order. */

const PREFIX = "gemini-call-"

/** Makes an id for the call at `position` in `choice` of the answer `responseId`. Equal input gives an equal id. */
export const ownId = (responseId: string, choice: number, position: number): string =>
  `${PREFIX}${responseId}-${choice}-${position}`

/** Whether `id` comes from {@link ownId}, so that the API has never seen it. */
export const isOwnId = (id: string): boolean => id.startsWith(PREFIX)
