/** Evidence for clients: one report a second at most, shared through a tree by all nonces that wait for it. */
import { Clock, Context, Deferred, Duration, Effect, Layer } from "effect"
import { type Bytes, decodeBase64Url, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { bindingInput, type EvidenceAnswer } from "../../domain/protocol/evidence.ts"
import { EvidenceUnavailable, NoEvidence } from "../../domain/problems/evidenceProblems.ts"
import { momentOf } from "../moments.ts"
import { Attestation } from "../sealing/Attestation.ts"
import { sha256 } from "../sealing/sha256.ts"
import { EvidenceSource, type HardwareReport, withPatience, SourceFailed } from "./EvidenceSource.ts"
import { NonceTree } from "./NonceTree.ts"

/** Shortest time between two reports. */
const BETWEEN = Duration.seconds(1)
/** How long the first nonce of a report waits for others. */
const GATHERING = Duration.millis(50)
const MAX_WAITING = 10_000

interface WaitingNonce {
  readonly nonce: Bytes
  readonly answer: Deferred.Deferred<EvidenceAnswer, EvidenceUnavailable>
}

export class Evidence extends Context.Service<
  Evidence,
  {
    /** Returns evidence that contains `nonce`, which has 32 bytes. */
    readonly ask: (nonce: Bytes) => Effect.Effect<EvidenceAnswer, NoEvidence | EvidenceUnavailable>
  }
>()("sealgate/services/evidence/Evidence") {
  /** Binds reports to the proxy's key and to `configuration`, the JSON text of its configuration. */
  static readonly layer = (configuration: string) => Layer.effect(Evidence, make(configuration))

  /** Has none. */
  static readonly layerOff = Layer.succeed(Evidence, { ask: () => Effect.fail(new NoEvidence()) })
}

const pathIn = (tree: NonceTree, index: number) => ({
  index,
  size: tree.size,
  hashes: tree.pathFor(index).map(encodeBase64Url),
})

const make = Effect.fnUntraced(function* (configuration: string) {
  const source = yield* EvidenceSource
  const { kid } = yield* Attestation
  const scope = yield* Effect.scope
  const kidBytes = decodeBase64Url(kid) ?? sha256()
  const configurationHash = sha256(utf8(configuration))
  let waiting: Array<WaitingNonce> = []
  let isRunning = false
  let nextAt = Number.NEGATIVE_INFINITY

  const sharedOf = ({ collateral, format, report }: HardwareReport) => ({
    format,
    kid,
    configuration: encodeBase64Url(utf8(configuration)),
    report: Buffer.from(report).toString("base64url"),
    ...(collateral === undefined ? {} : { collateral: Buffer.from(collateral).toString("base64url") }),
  })

  const reportFor = (tree: NonceTree) =>
    source.report(sha256(bindingInput(kidBytes, configurationHash, tree.root))).pipe(
      withPatience("report"),
      // A defect must not leave clients waiting.
      Effect.catchDefect((defect) =>
        Effect.fail(new SourceFailed({ problem: `the source is broken: ${String(defect)}` })),
      ),
    )

  const answerAll = Effect.gen(function* () {
    const asked = waiting
    waiting = []
    const tree = new NonceTree(asked.map(({ nonce }) => nonce))
    yield* reportFor(tree).pipe(
      Effect.matchEffect({
        onFailure: (error) =>
          Effect.andThen(
            Effect.logWarning(`no evidence: ${error.problem}`),
            Effect.forEach(asked, ({ answer }) => Deferred.fail(answer, new EvidenceUnavailable()), { discard: true }),
          ),
        onSuccess: (reported) => {
          const shared = sharedOf(reported)
          return Effect.forEach(
            asked,
            ({ answer }, index) => Deferred.succeed(answer, { ...shared, path: pathIn(tree, index) }),
            { discard: true },
          )
        },
      }),
    )
  })

  /** One report at a time, until nobody waits. */
  const run = Effect.gen(function* () {
    const clock = yield* Clock.Clock
    while (waiting.length > 0) {
      yield* Effect.sleep(Math.max(Duration.toMillis(GATHERING), nextAt - momentOf(clock)))
      nextAt = momentOf(clock) + Duration.toMillis(BETWEEN)
      yield* answerAll
    }
    // In the same synchronous step as the check of `waiting`: a client that arrives in between would start no run.
    isRunning = false
  })

  return Evidence.of({
    ask: Effect.fnUntraced(function* (nonce) {
      if (waiting.length >= MAX_WAITING) return yield* new EvidenceUnavailable()
      const answer = yield* Deferred.make<EvidenceAnswer, EvidenceUnavailable>()
      waiting.push({ nonce, answer })
      if (!isRunning) {
        isRunning = true
        yield* Effect.forkIn(run, scope)
      }
      return yield* Deferred.await(answer)
    }),
  })
})
