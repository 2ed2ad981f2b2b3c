/** Returns the arguments of a tool call as JSON text. Some servers send text where their format has an object. */
export const argumentsOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? {}))
