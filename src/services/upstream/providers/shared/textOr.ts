/** Returns `value` if it is a non-empty string, else `otherwise`. */
export const textOr = (otherwise: string, value: unknown): string =>
  typeof value === "string" && value !== "" ? value : otherwise
