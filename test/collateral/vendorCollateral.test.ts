/** Collateral from stand-ins for the services of AMD and Intel. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import {
  type AmdCollateral,
  type CollateralNeed,
  decodeCollateral,
  encodeCollateral,
  type IntelDocument,
} from "../../src/attestation/collateral.ts"
import { collateralNeedOf } from "../../src/attestation/collateralNeed.ts"
import type { ProxyEvidence } from "../../src/attestation/evidence.ts"
import type { Get } from "../../src/collateral/boundedGet.ts"
import { vendorCollateral } from "../../src/collateral/vendorCollateral.ts"
import { EvidenceFailure } from "../../src/attestation/failure.ts"
import { signerOf } from "../../src/attestation/sevSnp/leaf.ts"
import { readReport } from "../../src/attestation/sevSnp/report.ts"
import { type AttestationCheck, proveAttestation } from "../../src/attestation/verifyAttestation.ts"
import { makeCertificate, makeCrl, makeKeys, pemOf } from "../attestation/support/authority.ts"
import { codeOfPromise } from "../attestation/support/codeOf.ts"
import { leafExtensions, ROOT, snp, STRANGER, TCB, TCB_AT } from "../attestation/support/snp.ts"
import { tdx } from "../attestation/support/tdx.ts"
import { NOW } from "../attestation/support/world.ts"

const sample = (name: string) => readFileSync(`test/attestation/samples/${name}`)
const PCS: Readonly<Record<string, string>> = JSON.parse(sample("tdx-v4.collateral.json").toString())
const pcs = (name: string) => PCS[name] ?? ""
const fromHex = (text: string) => Uint8Array.from(Buffer.from(text, "hex"))

const evidenceOf = (format: ProxyEvidence["format"], report: Buffer, collateral?: Uint8Array<ArrayBuffer>) => ({
  format,
  kid: new Uint8Array(32),
  configuration: new Uint8Array(),
  report: Uint8Array.from(report),
  ...(collateral === undefined ? {} : { collateral }),
  path: { index: 0, size: 1, hashes: [] },
})

const TDX = evidenceOf("tdx", sample("tdx-v4.quote"))
const SNP = evidenceOf("sev-snp", sample("snp-genoa.report"))

type Answers = Readonly<Record<string, () => Response>>

/** Answers by URL, and records what was asked. */
const standIn = (answers: Answers, clock?: () => number) => {
  const asked: Array<string> = []
  const get: Get = async (url, { redirect }) => {
    assert.strictEqual(redirect, "manual")
    asked.push(url)
    return answers[url]?.() ?? new Response("", { status: 404 })
  }
  return { asked, source: vendorCollateral(get, clock) }
}

const chained = (body: BodyInit, header: string, chain: string) =>
  new Response(body, { headers: { [header]: encodeURIComponent(chain) } })

const INTEL = "https://api.trustedservices.intel.com"
const INTEL_ROOT_CRL = "https://certificates.trustedservices.intel.com/IntelSGXRootCA.der"
const intel: Answers = {
  [`${INTEL}/tdx/certification/v4/tcb?fmspc=${JSON.parse(pcs("tcb_info")).fmspc.toLowerCase()}&update=standard`]: () =>
    chained(
      `{"tcbInfo":${pcs("tcb_info")},"signature":"${pcs("tcb_info_signature")}"}`,
      "TCB-Info-Issuer-Chain",
      pcs("tcb_info_issuer_chain"),
    ),
  [`${INTEL}/tdx/certification/v4/qe/identity?update=standard`]: () =>
    chained(
      `{"enclaveIdentity":${pcs("qe_identity")},"signature":"${pcs("qe_identity_signature")}"}`,
      "SGX-Enclave-Identity-Issuer-Chain",
      pcs("qe_identity_issuer_chain"),
    ),
  [`${INTEL}/sgx/certification/v4/pckcrl?ca=platform&encoding=der`]: () =>
    chained(fromHex(pcs("pck_crl")), "SGX-PCK-CRL-Issuer-Chain", pcs("pck_crl_issuer_chain")),
  [INTEL_ROOT_CRL]: () => new Response(fromHex(pcs("root_ca_crl"))),
}

const AMD = "https://kdsintf.amd.com"
const chip = sample("snp-genoa.report").toString("hex", 0x1a0, 0x1e0)
const VCEK_URL = `${AMD}/vcek/v1/Genoa/${chip}?blSPL=10&teeSPL=0&snpSPL=23&ucodeSPL=84`
const amd: Answers = {
  [VCEK_URL]: () => new Response(Uint8Array.of(0x30, 1)),
  [`${AMD}/vcek/v1/Genoa/cert_chain`]: () => new Response(sample("snp-genoa.ask-ark.pem")),
  [`${AMD}/vcek/v1/Genoa/crl`]: () => new Response(Uint8Array.of(0x30, 2)),
}

const GUIDS = { vcek: "63da758de6644564adc5f4b93be8accd", vlek: "a8074bc2a25a483eaae639c045a0b8a1" }
const VCEK = Buffer.from(
  sample("snp-genoa.vcek.pem")
    .toString()
    .replaceAll(/-----[^-]+-----/g, ""),
  "base64",
)

/** A host's certificate table with this leaf. */
const tableOf = (signer: keyof typeof GUIDS, leaf: Uint8Array): Uint8Array<ArrayBuffer> => {
  const entry = Buffer.alloc(24)
  entry.write(GUIDS[signer], "hex")
  entry.writeUInt32LE(48, 16)
  entry.writeUInt32LE(leaf.length, 20)
  return Uint8Array.from(Buffer.concat([entry, Buffer.alloc(24), leaf, Buffer.alloc(8)]))
}

const amdOf = ({ collateral }: AttestationCheck): AmdCollateral => {
  if (collateral.kind !== "amd") throw new Error("another kind")
  return collateral
}

const CHIP_VCEK_URL = `${AMD}/vcek/v1/Genoa/${"5a".repeat(64)}?blSPL=7&teeSPL=1&snpSPL=20&ucodeSPL=209`

/** AMD's answers for generated evidence of a Genoa. */
const answersOf = (check: AttestationCheck): Answers => {
  const { chain, crl } = amdOf(check)
  const [leaf, ...authorities] = chain
  const signer = signerOf(readReport(check.evidence.report))
  return {
    [CHIP_VCEK_URL]: () => new Response(leaf),
    [`${AMD}/${signer}/v1/Genoa/cert_chain`]: () => new Response(pemOf(...authorities)),
    [`${AMD}/${signer}/v1/Genoa/crl`]: () => new Response(crl),
  }
}

/** Intel's answers for generated evidence of TDX. */
const pcsAnswersOf = ({ collateral }: AttestationCheck, update = "standard"): Answers => {
  if (collateral.kind !== "intel") throw new Error("another kind")
  const { pckCrl, qeIdentity, rootCrl, tcbInfo } = collateral
  const signed = (member: string, { issuerChain, signature, text }: IntelDocument, header: string) =>
    chained(`{"${member}":${text},"signature":"${Buffer.from(signature).toString("hex")}"}`, header, issuerChain)
  return {
    [`${INTEL}/tdx/certification/v4/tcb?fmspc=00806f050000&update=${update}`]: () =>
      signed("tcbInfo", tcbInfo, "TCB-Info-Issuer-Chain"),
    [`${INTEL}/tdx/certification/v4/qe/identity?update=${update}`]: () =>
      signed("enclaveIdentity", qeIdentity, "SGX-Enclave-Identity-Issuer-Chain"),
    [`${INTEL}/sgx/certification/v4/pckcrl?ca=platform&encoding=der`]: () => new Response(pckCrl),
    [INTEL_ROOT_CRL]: () => new Response(rootCrl),
  }
}

describe("vendorCollateral", () => {
  it("fetches from Intel what the sampled quote verifies with", async () => {
    const { source } = standIn(intel)
    const collateral = await source.collateralFor(collateralNeedOf(TDX))
    assert.deepStrictEqual(collateral, decodeCollateral({ kind: "intel", ...PCS }))
  })

  it("asks Intel for its early set if an entry of the policy wants it", async () => {
    const early = tdx({ accept: { tcb_update: "early", minimum_tcb_date: "2026-01-14" } })
    const { accept } = tdx({ accept: { statuses: [] } }).policy
    const check = { ...early, policy: { ...early.policy, accept: [...accept, ...early.policy.accept] } }
    const answers = pcsAnswersOf(early, "early")
    const { asked, source } = standIn(answers)
    await proveAttestation(check, source, () => NOW)
    assert.deepStrictEqual(asked.toSorted(), Object.keys(answers).toSorted())
  })

  it("fetches from AMD the VCEK of the report's chip and TCB", async () => {
    const { asked, source } = standIn(amd)
    const collateral = await source.collateralFor(collateralNeedOf(SNP))
    assert.deepStrictEqual(asked.toSorted(), Object.keys(amd).toSorted())
    assert.deepStrictEqual(collateral.kind === "amd" ? collateral.chain[0] : undefined, Uint8Array.of(0x30, 1))
  })

  it("takes the VCEK of the host's certificate table", async () => {
    const { asked, source } = standIn(amd)
    const need = collateralNeedOf(evidenceOf("sev-snp", sample("snp-genoa.report"), tableOf("vcek", VCEK)))
    const collateral = await source.collateralFor(need)
    assert.notInclude(asked, VCEK_URL)
    assert.deepStrictEqual(collateral.kind === "amd" ? collateral.chain[0] : undefined, Uint8Array.from(VCEK))
  })

  for (const [what, at] of [
    ["TCB", 0x187],
    ["chip", 0x1a0],
  ] as const) {
    it(`asks AMD if the VCEK of the host's certificate table is for another ${what}`, async () => {
      const report = sample("snp-genoa.report")
      report[at] = (report[at] ?? 0) ^ 1
      const { asked, source } = standIn({})
      const need = collateralNeedOf(evidenceOf("sev-snp", report, tableOf("vcek", VCEK)))
      await codeOfPromise(source.collateralFor(need))
      assert.lengthOf(
        asked.filter((url) => url.includes("/vcek/v1/Genoa/") && url.includes("blSPL=10&")),
        1,
      )
    })
  }

  it("proves a machine whose host kept the VCEK of older firmware", async () => {
    const updated = snp()
    const outdated = snp({ leaf: { extensions: leafExtensions("Genoa", "vcek", { ...TCB, microcode: 208 }) } })
    const evidence = { ...updated.evidence, collateral: tableOf("vcek", amdOf(outdated).chain[0]) }
    const { source } = standIn(answersOf(updated))
    const { verified } = await proveAttestation({ ...updated, evidence }, source, () => NOW)
    assert.strictEqual(verified.hardware, "AMD Genoa")
  })

  it("refuses a hidden chip with a VCEK, and asks AMD for none", async () => {
    const hidden = snp({ report: (report) => void report.fill(0, 0x1a0, 0x1e0) })
    const evidence = { ...hidden.evidence, collateral: tableOf("vcek", amdOf(hidden).chain[0]) }
    const { asked, source } = standIn(answersOf(hidden))
    assert.strictEqual(await codeOfPromise(proveAttestation({ ...hidden, evidence }, source, () => NOW)), "snp-chip-id")
    assert.lengthOf(
      asked.filter((url) => url.includes("blSPL")),
      0,
    )
  })

  it("refuses the VLEK of older firmware, which AMD cannot replace", async () => {
    const vlek = snp({ signer: "vlek", report: (report) => void (report[TCB_AT.reported + 7] = 210) })
    const evidence = { ...vlek.evidence, collateral: tableOf("vlek", amdOf(vlek).chain[0]) }
    const { source } = standIn(answersOf(vlek))
    assert.strictEqual(await codeOfPromise(proveAttestation({ ...vlek, evidence }, source, () => NOW)), "snp-leaf-tcb")
  })

  it("asks AMD for Turin's FMC version", async () => {
    const need: CollateralNeed = {
      kind: "amd",
      product: "Turin",
      signer: "vcek",
      leaf: undefined,
      chip: "0011223344556677",
      tcb: { fmc: 1, bootloader: 2, tee: 3, snp: 4, microcode: 5 },
    }
    const { asked, source } = standIn({})
    await codeOfPromise(source.collateralFor(need))
    assert.include(asked, `${AMD}/vcek/v1/Turin/0011223344556677?fmcSPL=1&blSPL=2&teeSPL=3&snpSPL=4&ucodeSPL=5`)
  })

  it("asks nobody for a missing VLEK, which AMD does not publish", async () => {
    const report = sample("snp-genoa.report")
    report[0x48] = 1 << 2
    const { asked, source } = standIn(amd)
    const pending = source.collateralFor(collateralNeedOf(evidenceOf("sev-snp", report)))
    assert.strictEqual(await codeOfPromise(pending), "collateral-unavailable")
    assert.notInclude(asked, VCEK_URL)
  })

  it("needs nothing for Confidential Space", async () => {
    const { asked, source } = standIn({})
    const need = collateralNeedOf(evidenceOf("confidential-space", Buffer.alloc(0)))
    assert.deepStrictEqual(await source.collateralFor(need), { kind: "none" })
    assert.deepStrictEqual(asked, [])
  })

  const QE = `${INTEL}/tdx/certification/v4/qe/identity?update=standard`
  const endless = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
      }),
    )
  const limited = () => new Response("", { status: 429, headers: { "retry-after": "0" } })
  const broken = () => new Response(new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) }))
  const wrong: ReadonlyArray<readonly [string, () => Response, RegExp]> = [
    ["a redirect", () => new Response("", { status: 302, headers: { location: "https://example.org" } }), /status 302/],
    ["too many requests", limited, /limits requests/],
    ["an endless body", endless, /more than 262144 bytes/],
    ["a broken body", broken, /broke off/],
    ["another document", () => chained('{"tcbInfo":{},"signature":"00"}', "x", ""), /no signed enclaveIdentity/],
    ["HTML", () => new Response("<html>"), /no signed enclaveIdentity/],
    ["bytes that are not UTF-8", () => new Response(Uint8Array.of(0xff)), /not UTF-8/],
    [
      "a malformed chain",
      () =>
        new Response('{"enclaveIdentity":{},"signature":"00"}', {
          headers: { "SGX-Enclave-Identity-Issuer-Chain": "%" },
        }),
      /malformed header/,
    ],
    [
      "no connection",
      () => {
        throw new TypeError("fetch failed")
      },
      /cannot be reached/,
    ],
  ]
  it("asks again a service that limits requests", async () => {
    let answers = 0
    const { source } = standIn({
      ...amd,
      [VCEK_URL]: () => (++answers < 3 ? limited() : new Response(Uint8Array.of(0x30, 1))),
    })
    const { kind } = await source.collateralFor(collateralNeedOf(SNP))
    assert.deepStrictEqual([kind, answers], ["amd", 3])
  })

  it("does not wait for a service that asks for minutes", async () => {
    const busy = () => new Response("", { status: 429, headers: { "retry-after": "300" } })
    const { asked, source } = standIn({ ...intel, [QE]: busy })
    const error = await source.collateralFor(collateralNeedOf(TDX)).catch((cause: unknown) => cause)
    assert.match(String(error), /try again in 300 s/)
    assert.lengthOf(
      asked.filter((url) => url === QE),
      1,
    )
  })

  for (const [name, answer, message] of wrong) {
    it(`refuses ${name}`, async () => {
      const { source } = standIn({ ...intel, [QE]: answer })
      const error = await source.collateralFor(collateralNeedOf(TDX)).then(
        () => undefined,
        (cause: unknown) => cause,
      )
      assert.instanceOf(error, EvidenceFailure)
      assert.strictEqual(error instanceof EvidenceFailure ? error.code : "", "collateral-unavailable")
      assert.match(String(error), message)
    })
  }

  for (const [what, url] of [
    ["certificate", VCEK_URL],
    ["revocation list", `${AMD}/vcek/v1/Genoa/crl`],
  ] as const) {
    it(`refuses HTML in place of a ${what}`, async () => {
      const { source } = standIn({ ...amd, [url]: () => new Response("<html>") })
      assert.strictEqual(await codeOfPromise(source.collateralFor(collateralNeedOf(SNP))), "collateral-unavailable")
    })
  }

  it("refuses a chain of AMD without two certificates", async () => {
    for (const chain of ["", Uint8Array.of(0xff)]) {
      const { source } = standIn({ ...amd, [`${AMD}/vcek/v1/Genoa/cert_chain`]: () => new Response(chain) })
      assert.strictEqual(await codeOfPromise(source.collateralFor(collateralNeedOf(SNP))), "collateral-unavailable")
    }
  })

  it("stops when the caller does", async () => {
    const stop = new AbortController()
    const hanging = vendorCollateral(
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    )
    const pending = codeOfPromise(hanging.collateralFor(collateralNeedOf(TDX), stop.signal))
    stop.abort()
    assert.strictEqual(await pending, "collateral-unavailable")
  })
})

const down = () => new Response("", { status: 503 })

describe("vendorCollateral after its first answers", () => {
  /** A vendor that answers so until `turn` changes the answers of all URLs. */
  const turning = (answers: Answers, clock?: () => number) => {
    let instead: (() => Response) | undefined
    const { asked, source } = standIn(
      Object.fromEntries(Object.entries(answers).map(([url, answer]) => [url, () => (instead ?? answer)()])),
      clock,
    )
    const prove = (check: AttestationCheck, now = NOW) => codeOfPromise(proveAttestation(check, source, () => now))
    const times = (url: string) => asked.filter((each) => each === url).length
    return { source, prove, times, turn: (answer: () => Response) => void (instead = answer) }
  }

  it("proves a Genoa again while AMD's service is down, and asks for its VCEK once", async () => {
    const check = snp()
    const { prove, times, turn } = turning(answersOf(check))
    assert.strictEqual(await prove(check), "verified")
    assert.strictEqual(await prove(check), "verified")
    turn(down)
    assert.strictEqual(await prove(check), "verified")
    const chain = `${AMD}/vcek/v1/Genoa/cert_chain`
    assert.deepStrictEqual([CHIP_VCEK_URL, chain, `${AMD}/vcek/v1/Genoa/crl`].map(times), [1, 3, 3])
  })

  const stranger = snp({ leafKeys: makeKeys("p384") })
  for (const [what, url, answer] of [
    ["VCEK", CHIP_VCEK_URL, () => new Response(amdOf(stranger).chain[0])],
    [
      "chain",
      `${AMD}/vcek/v1/Genoa/cert_chain`,
      () => new Response(pemOf(makeCertificate(STRANGER, STRANGER), makeCertificate(STRANGER, STRANGER))),
    ],
  ] as const) {
    it(`asks AMD again for a ${what} with which the verification failed`, async () => {
      const check = snp()
      const answers = answersOf(check)
      let answered = 0
      const { source } = standIn({
        ...answers,
        [url]: () => (++answered === 1 ? answer() : answers[url]?.()) ?? down(),
      })
      const prove = () => codeOfPromise(proveAttestation(check, source, () => NOW))
      assert.notStrictEqual(await prove(), "verified")
      assert.strictEqual(await prove(), "verified")
    })
  }

  it("proves TDX again while Intel's services are down, or answer with other documents", async () => {
    const check = tdx()
    const { prove, times, turn } = turning(pcsAnswersOf(check))
    assert.strictEqual(await prove(check), "verified")
    turn(down)
    assert.strictEqual(await prove(check), "verified")
    turn(() => new Response("<html>"))
    assert.strictEqual(await prove(check), "verified")
    assert.deepStrictEqual(Object.keys(pcsAnswersOf(check)).map(times), [3, 3, 3, 3])
  })

  for (const [vendor, check, answers] of [
    ["AMD", snp(), answersOf],
    ["Intel", tdx(), pcsAnswersOf],
  ] as const) {
    it(`returns no revocation list of ${vendor} that was fetched more than a day ago`, async () => {
      let now = 1e12
      const { prove, turn } = turning(answers(check), () => now)
      assert.strictEqual(await prove(check), "verified")
      turn(down)
      now += 12 * 3_600_000
      assert.strictEqual(await prove(check), "verified")
      now += 12 * 3_600_000 + 1
      assert.strictEqual(await prove(check), "collateral-unavailable")
      now -= 25 * 3_600_000
      assert.strictEqual(await prove(check), "collateral-unavailable")
    })
  }

  it("returns a revocation list after its next update, which verifiers refuse", async () => {
    const check = snp({ crl: (root) => makeCrl(root, { until: NOW + 3600 }) })
    const { prove, turn } = turning(answersOf(check))
    assert.strictEqual(await prove(check), "verified")
    turn(down)
    assert.strictEqual(await prove(check, NOW + 3600), "crl-expired")
  })

  it("takes a newer revocation list", async () => {
    const check = snp({ crl: (root) => makeCrl(root, { until: NOW + 3600 }) })
    const { prove, turn } = turning(answersOf(check))
    assert.strictEqual(await prove(check), "verified")
    turn(() => new Response(makeCrl(ROOT)))
    assert.strictEqual(await prove(check, NOW + 3600), "verified")
  })

  it("returns nothing to a caller that stopped", async () => {
    const source = vendorCollateral(async (url, { signal }) => {
      signal.throwIfAborted()
      return intel[url]?.() ?? down()
    })
    await source.collateralFor(collateralNeedOf(TDX))
    const stopped = source.collateralFor(collateralNeedOf(TDX), AbortSignal.abort())
    assert.strictEqual(await codeOfPromise(stopped), "collateral-unavailable")
  })

  it("forgets certificates that were not used for long", async () => {
    const asked: Array<string> = []
    const source = vendorCollateral(async (url) => {
      asked.push(url)
      return url.endsWith("/cert_chain")
        ? new Response(sample("snp-genoa.ask-ark.pem"))
        : new Response(Uint8Array.of(0x30))
    })
    const need = collateralNeedOf(SNP)
    assert(need.kind === "amd")
    for (const chip of ["first", ...Array.from({ length: 100 }, (_, i) => `${i}`), "first"]) {
      await source.collateralFor({ ...need, chip })
    }
    assert.lengthOf(
      asked.filter((url) => url.includes("/first?")),
      2,
    )
  })
})

describe("collateral as JSON", () => {
  it("is read back unchanged", async () => {
    for (const collateral of [
      await standIn(intel).source.collateralFor(collateralNeedOf(TDX)),
      await standIn(amd).source.collateralFor(collateralNeedOf(SNP)),
      { kind: "none" } as const,
    ]) {
      assert.deepStrictEqual(decodeCollateral(JSON.parse(JSON.stringify(encodeCollateral(collateral)))), collateral)
    }
  })
})
