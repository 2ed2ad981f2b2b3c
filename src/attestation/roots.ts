/** Roots that evidence must lead to. No setting can add one; only a caller's own code passes others. */

export const AMD_PRODUCTS = ["Milan", "Genoa", "Turin"] as const
export type AmdProduct = (typeof AMD_PRODUCTS)[number]

/** SHA-256 of the DER of root certificates, in lower-case hexadecimal. */
export interface EvidenceRoots {
  readonly amd: Readonly<Record<AmdProduct, string>>
  readonly intel: string
  readonly confidentialSpace: string
}

/**
 * AMD's ARKs (kdsintf.amd.com, `/vcek/v1/<product>/cert_chain`), Intel's SGX Root CA, and Google's Confidential Space Root CA,
 * whose SHA-1 Google documents as B9:51:20:74:2C:24:E3:AA:34:04:2E:1C:3B:A3:AA:D2:8B:21:23:21 ("Access resources not managed
 * by Google Cloud IAM").
 */
export const PINNED_ROOTS: EvidenceRoots = {
  amd: {
    Milan: "69d063b45344d26a2e94e1f4210de49ef555308287d4c174445c95639a540bcd",
    Genoa: "4c6598d19c18719c5dfd4a7d335f674e5bfe1d8f800cea2cf270c10d103db2f1",
    Turin: "1f084161a44bb6d93778a904877d4819cafa5d05ef4193b2ded9dd9c73dd3f6a",
  },
  intel: "44a0196b2b99f889b8e149e95b807a350e7424964399e885a7cbb8ccfab674d3",
  confidentialSpace: "148b293821bb0c6a317f413c8ba475814091cb22d49b9e3c94198db8e8f86c39",
}
