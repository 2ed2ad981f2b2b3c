/** `value` if it is a non-empty string, else `otherwise`: for members that an answer can do without. */
export const textOr = (otherwise: string, value: unknown): string =>
  typeof value === "string" && value !== "" ? value : otherwise
