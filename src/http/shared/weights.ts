/** The weights of a header such as `Accept` (RFC 9110 §12.4.2), by the values that it names, in lower case. */
export const weightsIn = (header = ""): ReadonlyMap<string, number> =>
  new Map(
    header.split(",").map((part) => {
      const [value = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase())
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice("q=".length)
      return [value, Number(weight ?? 1) || 0]
    }),
  )
