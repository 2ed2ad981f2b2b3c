/** `value`, unless it is no text, or an empty one: for members that an answer can do without. */
export const textOr = (otherwise: string, value: unknown): string =>
  typeof value === "string" && value !== "" ? value : otherwise
