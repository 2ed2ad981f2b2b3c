/** The arguments of a tool call as JSON text, which is what some servers send where their format has an object. */
export const argumentsOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? {}))
