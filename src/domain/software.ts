/** Name and version of this product, as receipts and `/health` state them. */
export const SOFTWARE = "sealgate/0.1.0"
