/** Name and version for receipts and `/health`. */
export const SOFTWARE = "sealgate/0.1.0"

/** Whether a `User-Agent` is that of a sealgate server calling a provider. */
export const isOurServer = (userAgent: string | undefined): boolean => userAgent?.startsWith("sealgate/") === true

/** Code of a proxy's refusal of requests that are not sealed. */
export const NOT_SEALED = "not-sealed"

/** Code of a connector's refusal of a proxy or gateway that uses it as its provider. */
export const CALLED_BY_SEALGATE = "called-by-sealgate"
