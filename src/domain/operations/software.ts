/** Name and version of this product, as receipts and `/health` state them. */
export const SOFTWARE = "sealgate/0.1.0"

/** Whether a `User-Agent` is one of this product's servers, which calls a provider. */
export const isOurServer = (userAgent: string | undefined): boolean => userAgent?.startsWith("sealgate/") === true

/** The code with which a proxy refuses what its provider's own API would take. */
export const NOT_SEALED = "not-sealed"

/** The code with which a connector refuses a proxy or a gateway that takes it for a provider. */
export const CALLED_BY_SEALGATE = "called-by-sealgate"
