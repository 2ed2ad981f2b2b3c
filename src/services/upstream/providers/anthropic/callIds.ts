/** Ids of tool calls. Servers that imitate the API may leave them out. */

/** An id for the tool call at `position` of the answer `messageId`, where a server sends none. */
export const ownId = (messageId: string, position: number): string => `${messageId}_${position}`
