/** Reads policy files: a compact JWS by the rules of statements, whose claims are an {@link EvidencePolicy}. */
import type { Bytes } from "../domain/bytes/bytes.ts"
import { isObject, type JsonObject } from "../domain/json/json.ts"
import { EVIDENCE_FORMATS } from "../domain/protocol/evidence.ts"
import { parseStatement } from "../domain/protocol/statement.ts"
import { EvidenceFailure, must } from "./failure.ts"
import {
  type Accepted,
  type AcceptedConfiguration,
  type AcceptedIntel,
  type EvidencePolicy,
  POLICY_TYPE,
} from "./policy.ts"
import { AMD_PRODUCTS } from "./roots.ts"
import { SWVERSION } from "./space/claims.ts"

const CODE = "policy-malformed"

const knows = (object: JsonObject, names: ReadonlyArray<string>, where: string): void => {
  const unknown = Object.keys(object).find((name) => !names.includes(name))
  must(unknown === undefined, CODE, `The policy's ${where} has the unknown member ${JSON.stringify(unknown)}.`)
}

const objectIn = (value: unknown, where: string): JsonObject => {
  must(isObject(value), CODE, `The policy's ${where} must be an object.`)
  return value
}

const textsIn = (value: unknown, where: string, form = /^/): ReadonlyArray<string> => {
  const isText = (each: unknown): each is string => typeof each === "string" && form.test(each)
  must(
    Array.isArray(value) && value.every(isText),
    CODE,
    `The policy's ${where} must be a list of well-formed strings.`,
  )
  return value
}

/** Lower-case hexadecimal digits, by the number of their bytes. */
const HEX = {
  32: /^[0-9a-f]{64}$/,
  48: /^[0-9a-f]{96}$/,
} as const

const oneOf = <Name extends string>(names: ReadonlyArray<Name>, value: unknown, where: string): ReadonlyArray<Name> =>
  textsIn(value, where).map((text) => {
    const name = names.find((each) => each === text)
    must(name !== undefined, CODE, `The policy's ${where} has the unknown value ${JSON.stringify(text)}.`)
    return name
  })

const TCB_PARTS = ["bootloader", "tee", "snp", "microcode"] as const

const tcbIn = (value: unknown) => {
  const tcb = objectIn(value, "minimum_tcb")
  knows(tcb, [...TCB_PARTS, "fmc"], "minimum_tcb")
  const part = (name: string, absent?: number): number => {
    const version = tcb[name] ?? absent
    const fits = typeof version === "number" && Number.isInteger(version) && version >= 0 && version < 256
    must(fits, CODE, `The policy's minimum_tcb needs ${name}, from 0 to 255.`)
    return version
  }
  const [bootloader, tee, snp, microcode] = [part("bootloader"), part("tee"), part("snp"), part("microcode")]
  return { bootloader, tee, snp, microcode, fmc: part("fmc", 0) }
}

const REGISTERS = ["mrtd", "rtmr0", "rtmr1", "rtmr2"] as const

const registersIn = (value: unknown, names: ReadonlyArray<string>) => {
  const object = objectIn(value, "measurements")
  knows(object, names, "measurements")
  const values = textsIn(
    names.map((name) => object[name]),
    "measurements",
    HEX[48],
  )
  const [mrtd = "", rtmr0 = "", rtmr1 = "", rtmr2 = "", rtmr3 = ""] = values
  return { mrtd, rtmr0, rtmr1, rtmr2, rtmr3 }
}

const listIn = (value: unknown, where: string): ReadonlyArray<unknown> => {
  must(Array.isArray(value), CODE, `The policy's ${where} must be a list.`)
  return value
}

const INTEL_MEMBERS = ["statuses", "advisories", "minimum_tcb_date", "tcb_update"]

const intelIn = (entry: JsonObject): AcceptedIntel => {
  const { minimum_tcb_date: date, tcb_update: update } = entry
  const isDate = date === undefined || (typeof date === "string" && /^\d{4}-\d\d-\d\d$/.test(date))
  must(
    isDate && (date === undefined || !Number.isNaN(Date.parse(date))),
    CODE,
    "The policy's minimum_tcb_date is no date.",
  )
  must(
    update === undefined || update === "standard" || update === "early",
    CODE,
    "The policy's tcb_update must be standard or early.",
  )
  return {
    statuses: textsIn(entry["statuses"], "statuses"),
    advisories: textsIn(entry["advisories"], "advisories"),
    ...(date === undefined ? {} : { minimum_tcb_date: date }),
    ...(update === undefined ? {} : { tcb_update: update }),
  }
}

const readers: {
  readonly [F in Accepted["format"]]: (entry: JsonObject) => Extract<Accepted, { readonly format: F }>
} = {
  "sev-snp": (entry) => {
    knows(entry, ["format", "measurements", "host_data", "products", "minimum_tcb"], "entry of sev-snp")
    const { host_data: data } = entry
    return {
      format: "sev-snp",
      measurements: textsIn(entry["measurements"], "measurements", HEX[48]),
      ...(data === undefined ? {} : { host_data: textsIn(data, "host_data", HEX[32]) }),
      products: oneOf(AMD_PRODUCTS, entry["products"], "products"),
      minimum_tcb: tcbIn(entry["minimum_tcb"]),
    }
  },
  tdx: (entry) => {
    knows(entry, ["format", "measurements", ...INTEL_MEMBERS], "entry of tdx")
    return {
      format: "tdx",
      measurements: listIn(entry["measurements"], "measurements").map((each) =>
        registersIn(each, [...REGISTERS, "rtmr3"]),
      ),
      ...intelIn(entry),
    }
  },
  dstack: (entry) => {
    const members = ["format", "measurements", "compose_hashes", "app_ids", "key_providers", ...INTEL_MEMBERS]
    knows(entry, members, "entry of dstack")
    return {
      format: "dstack",
      measurements: listIn(entry["measurements"], "measurements").map((each) => registersIn(each, REGISTERS)),
      compose_hashes: textsIn(entry["compose_hashes"], "compose_hashes", HEX[32]),
      app_ids: textsIn(entry["app_ids"], "app_ids", /^(?:[0-9a-f]{2})+$/),
      key_providers: textsIn(entry["key_providers"], "key_providers", /^[\w-]+:/),
      ...intelIn(entry),
    }
  },
  "confidential-space": (entry) => {
    knows(
      entry,
      [
        "format",
        "image_digests",
        "hardware",
        "audience",
        "projects",
        "environment",
        "minimum_swversion",
        "tcb_statuses",
      ],
      "entry of confidential-space",
    )
    const { audience, minimum_swversion: version, projects, tcb_statuses: statuses } = entry
    must(typeof audience === "string", CODE, "The policy's entry of confidential-space needs an audience.")
    const isVersion = version === undefined || (typeof version === "string" && SWVERSION.test(version))
    must(isVersion, CODE, "The policy's minimum_swversion is not like 250301.")
    return {
      format: "confidential-space",
      image_digests: textsIn(entry["image_digests"], "image_digests", /^sha256:[0-9a-f]{64}$/),
      hardware: oneOf(["GCP_INTEL_TDX"] as const, entry["hardware"], "hardware"),
      audience,
      ...(projects === undefined ? {} : { projects: textsIn(projects, "projects") }),
      environment: textsIn(entry["environment"], "environment"),
      ...(version === undefined ? {} : { minimum_swversion: version }),
      ...(statuses === undefined ? {} : { tcb_statuses: textsIn(statuses, "tcb_statuses") }),
    }
  },
}

const entryIn = (value: unknown): Accepted => {
  const entry = objectIn(value, "accept")
  const format = EVIDENCE_FORMATS.find((each) => each === entry["format"])
  must(format !== undefined, CODE, "The policy's accept has an entry of unknown format.")
  return readers[format](entry)
}

const HASH = /^[\w-]{43}$/

const softwareIn = (value: unknown): AcceptedConfiguration["software"] => {
  const list = listIn(value, "software")
  must(list.length > 0, CODE, "The policy's software must name a version.")
  return list.map((each) => {
    const entry = objectIn(each, "software")
    knows(entry, ["version", "digest"], "software")
    const { version, digest } = entry
    const isNamed = typeof version === "string" && typeof digest === "string" && HASH.test(digest)
    must(isNamed, CODE, "The policy's software needs versions and their digests.")
    return { version, digest }
  })
}

const originsIn = (value: unknown, where: string): ReadonlyArray<string> => {
  const origins = textsIn(value, where)
  const wrong = origins.find((each) => !URL.canParse(each) || new URL(each).origin !== each)
  must(wrong === undefined, CODE, `The policy's ${where} has ${JSON.stringify(wrong)}, which is not an origin.`)
  return origins
}

const providersIn = (value: unknown): AcceptedConfiguration["providers"] =>
  listIn(value, "providers").map((each) => {
    const provider = objectIn(each, "providers")
    knows(provider, ["vendor", "base_url", "sealed_pins"], "providers")
    const { base_url, sealed_pins: pins, vendor } = provider
    const isNamed = typeof vendor === "string" && typeof base_url === "string" && URL.canParse(base_url)
    must(isNamed, CODE, "The policy's providers need vendors and their base URLs.")
    return { vendor, base_url, sealed_pins: pins === null ? null : textsIn(pins, "sealed_pins", HASH) }
  })

const configurationIn = (value: unknown): AcceptedConfiguration => {
  const configuration = objectIn(value, "configuration")
  const names = ["software", "providers", "outgoing_proxies", "telemetry", "extra_ca", "node", "key_storage"]
  knows(configuration, names, "configuration")
  const node = objectIn(configuration["node"], "node")
  knows(node, ["versions", "flags"], "node")
  const { telemetry } = configuration
  return {
    software: softwareIn(configuration["software"]),
    providers: providersIn(configuration["providers"]),
    outgoing_proxies: originsIn(configuration["outgoing_proxies"], "outgoing_proxies"),
    telemetry: telemetry === "none" ? telemetry : originsIn(telemetry, "telemetry"),
    extra_ca: textsIn(configuration["extra_ca"], "extra_ca", HASH),
    node: { versions: textsIn(node["versions"], "versions"), flags: textsIn(node["flags"], "flags") },
    key_storage: textsIn(configuration["key_storage"], "key_storage"),
  }
}

/** Decodes the claims of a policy. Throws `policy-malformed` at unknown members, too: a misspelt rule must not be lost. */
export const decodePolicy = (claims: unknown): EvidencePolicy => {
  const policy = objectIn(claims, "claims")
  knows(policy, ["accept", "configuration", "deny", "expires"], "claims")
  const deny = objectIn(policy["deny"], "deny")
  knows(deny, ["chips", "kids"], "deny")
  const { expires } = policy
  must(typeof expires === "number" && Number.isSafeInteger(expires), CODE, "The policy needs expires, in seconds.")
  return {
    accept: listIn(policy["accept"], "accept").map(entryIn),
    configuration: configurationIn(policy["configuration"]),
    deny: { chips: textsIn(deny["chips"], "chips", /^[0-9a-f]+$/), kids: textsIn(deny["kids"], "kids", HASH) },
    expires,
  }
}

/** Reads a policy signed by the key with thumbprint `kid`; `verify` checks with that key. Rejects with `EvidenceFailure`. */
export const openPolicy = async (
  text: string,
  kid: string,
  verify: (signature: Bytes, message: Bytes) => Promise<boolean>,
): Promise<EvidencePolicy> => {
  const statement = parseStatement(text.trim())
  if (statement === undefined) throw new EvidenceFailure(CODE, "The policy is not a compact JWS of I-JSON.")
  must(
    statement.typ === POLICY_TYPE && statement.kid === kid,
    "policy-signature",
    "The policy has another signer or type.",
  )
  const valid = await verify(statement.signature, statement.signed)
  must(valid, "policy-signature", "The policy's signature is wrong.")
  return decodePolicy(statement.claims)
}
