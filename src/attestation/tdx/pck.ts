/** Intel's extensions of a PCK certificate (Intel SGX PCK certificate profile, OID 1.2.840.113741.1.13.1). */
import { must } from "../failure.ts"
import type { Certificate } from "../x509/certificate.ts"
import { integerOf, oidOf, sequenceIn, valuesIn } from "../x509/der.ts"

const OID = "1.2.840.113741.1.13.1"
const COMPONENTS = 16

export interface PckFacts {
  /** Lower-case hexadecimal. */
  readonly ppid: string
  readonly fmspc: string
  readonly pceId: string
  readonly components: ReadonlyArray<number>
  readonly pceSvn: number
}

const MALFORMED = "certificate-malformed"

const pairsIn = (bytes: Uint8Array): ReadonlyMap<string, Uint8Array> =>
  new Map(
    valuesIn(bytes, MALFORMED).map((pair) => {
      const [oid, value] = valuesIn(pair.content, MALFORMED)
      must(oid !== undefined && value !== undefined, MALFORMED, "An extension of the PCK certificate is malformed.")
      return [oidOf(oid.content), value.content]
    }),
  )

/** Names of the authorities that issue PCK certificates, and how Intel's service calls them. */
export const PCK_AUTHORITIES = {
  "Intel SGX PCK Platform CA": "platform",
  "Intel SGX PCK Processor CA": "processor",
} as const
export const isPckAuthority = (name: string): name is keyof typeof PCK_AUTHORITIES => name in PCK_AUTHORITIES

/** Throws `certificate-malformed` if an extension is missing. */
export const pckFactsOf = ({ extensions }: Certificate): PckFacts => {
  const bytes = extensions.get(OID)
  must(bytes !== undefined, MALFORMED, "The leaf is not a PCK certificate.")
  const outer = new Map(sequenceIn(bytes, MALFORMED).flatMap((pair) => [...pairsIn(pair.raw)]))
  const part = (from: ReadonlyMap<string, Uint8Array>, oid: string): Uint8Array => {
    const value = from.get(oid)
    must(value !== undefined, MALFORMED, `The PCK certificate lacks ${oid}.`)
    return value
  }
  const tcb = pairsIn(part(outer, `${OID}.2`))
  const hex = (oid: string) => Buffer.from(part(outer, oid)).toString("hex")
  return {
    ppid: hex(`${OID}.1`),
    pceId: hex(`${OID}.3`),
    fmspc: hex(`${OID}.4`),
    components: Array.from({ length: COMPONENTS }, (_, i) => integerOf(part(tcb, `${OID}.2.${i + 1}`))),
    pceSvn: integerOf(part(tcb, `${OID}.2.17`)),
  }
}
