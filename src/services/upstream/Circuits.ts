/** Circuit breakers: a failing target is not called until it works again. {@link Suspect} lists what has a circuit. */
import { Cause, type Context, Duration, Effect, Exit, Fiber, Option, Scope } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import type { ApiName } from "../../domain/upstream/apis.ts"
import { failureRules, type Suspect } from "../../domain/upstream/failures.ts"
import type { ProviderId } from "../../domain/upstream/upstream.ts"
import { measure } from "../lifecycle/MeasuredGauges.ts"
import { jittered } from "./Backoff.ts"
import type { BulkheadFull } from "./Bulkhead.ts"
import type { OutOfTime } from "./Deadline.ts"
import type { ProviderFailure } from "./Provider.ts"
import {
  type CalledTarget,
  isOfTenant,
  keyFor,
  type KnownTarget,
  modelIn,
  type TargetRegistry,
} from "./TargetRegistry.ts"
import { showCircuit } from "./UpstreamMetrics.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

export type CircuitState = "closed" | "half-open" | "open"

/** From best to worst. */
const STATES: ReadonlyArray<CircuitState> = ["closed", "half-open", "open"]
const best = (states: ReadonlyArray<CircuitState>): CircuitState =>
  STATES.find((state) => states.includes(state)) ?? "closed"
const worst = (states: ReadonlyArray<CircuitState>): CircuitState =>
  STATES.findLast((state) => states.includes(state)) ?? "closed"

/** The state of a provider, known without calling it. */
interface ProviderCircuits {
  /** Open only if nothing of the provider can be called. */
  readonly state: CircuitState
  /** The targets called so far, each with the worst circuit of its calls, by its best API. */
  readonly targets: ReadonlyArray<readonly [KnownTarget, CircuitState]>
}

/** A call's admission through its circuits. */
export interface CircuitPermit {
  /** Call it when the target shows that it works. A probe's circuit then closes, not minutes later when the probe ends. */
  readonly working: () => void
  /** Whether the call is a probe whose target has not yet shown that it works. */
  readonly isProbe: () => boolean
}

type CallFailure = ProviderFailure | BulkheadFull | OutOfTime | CircuitBreaker.CircuitBreakerError

export interface Circuits {
  /** Runs a call, which counts once however many retries it contains, through its target's circuits. */
  readonly guard: <A, R>(
    target: CalledTarget,
    api: ApiName,
    call: (permit: CircuitPermit) => Effect.Effect<A, CallFailure, R>,
  ) => Effect.Effect<A, CallFailure, R>
  readonly statesOf: (provider: ProviderId) => Effect.Effect<ProviderCircuits>
}

const OUTERMOST_FIRST: ReadonlyArray<Suspect> = ["provider", "target", "pace"]

const SUSPECTS: Readonly<Record<Suspect, (target: CalledTarget, api: ApiName) => string>> = {
  provider: ({ provider }) => provider,
  target: keyFor,
  pace: (target, api) => `${keyFor(target, api)}${PACE}`,
}
const PACE = "#pace"

const AT_ONCE = { concurrency: "unbounded" } as const

/**
 * The meaning of an exit for a suspect: `ignored`, which frees a probe's slot, if the request was refused or its caller
 * left.
 */
const outcomeFor = (suspect: Suspect, exit: Exit.Exit<unknown, CallFailure>): CircuitBreaker.Outcome => {
  if (Exit.isSuccess(exit)) return CircuitBreaker.success
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (error?._tag !== "ProviderFailure") return CircuitBreaker.ignored
  const { against, answered } = failureRules[error.kind]
  if (against === suspect) return CircuitBreaker.failure({ retryAfter: error.retryAfterMs })
  return suspect === "provider" && answered ? CircuitBreaker.success : CircuitBreaker.ignored
}

interface Passed {
  readonly suspect: Suspect
  readonly key: string
  readonly admission: CircuitBreaker.Admission
}

const openDuration = ({ factor, maxOpen, open }: UpstreamSettings["circuit"], openings: number) =>
  Effect.map(
    jittered(Math.min(Duration.toMillis(open) * factor ** openings, Duration.toMillis(maxOpen))),
    Duration.millis,
  )

type Store = CircuitBreaker.CircuitBreakerStore["Service"]

type Note = (transition: CircuitBreaker.Transition | undefined) => Effect.Effect<void>

/** Returns a function that reports a call's outcome to one of its circuits. */
const makeRecord = (settings: UpstreamSettings["circuit"], store: Store, note: Note) => {
  const onFailures = CircuitBreaker.consecutive(settings.failures)
  const policies: Readonly<Record<Suspect, CircuitBreaker.TripPolicy>> = {
    provider: onFailures,
    target: onFailures,
    pace: CircuitBreaker.consecutive(settings.slow),
  }

  const write = (
    { admission: { generation }, key, suspect }: Passed,
    outcome: CircuitBreaker.Outcome["_tag"],
    openFor: Duration.Duration,
  ): Effect.Effect<void> =>
    Effect.matchEffect(store.record({ key, generation, outcome, tripPolicy: policies[suspect], openFor }), {
      onSuccess: note,
      // The call is over. A store that missed its outcome learns from later calls.
      onFailure: () => Effect.void,
    })

  return (passed: Passed, outcome: CircuitBreaker.Outcome): Effect.Effect<void> => {
    if (outcome._tag !== "Failure") return write(passed, outcome._tag, Duration.zero)
    const asked = Duration.min(outcome.retryAfter ?? Duration.zero, settings.maxOpen)
    return Effect.flatMap(openDuration(settings, passed.admission.consecutiveOpenings), (own) =>
      write(passed, outcome._tag, Duration.max(own, asked)),
    )
  }
}

/** Returns a function that reads a provider's circuits. */
const makeStatesOf = (store: Store, registry: TargetRegistry) => {
  const stateAt = (key: string): Effect.Effect<CircuitState> =>
    store.state(key).pipe(
      Effect.map((state): CircuitState => {
        if (state._tag === "Closed") return "closed"
        // A circuit whose open time has passed lets the next call through as its probe.
        return state._tag === "HalfOpen" || Duration.isZero(state.retryAfter) ? "half-open" : "open"
      }),
      // While the store cannot be reached, calls run as if every circuit were closed.
      Effect.orElseSucceed(() => "closed" as const),
    )

  return Effect.fnUntraced(function* (provider: ProviderId) {
    const connection = yield* stateAt(provider)
    const stateBy = (target: KnownTarget) => (api: ApiName) =>
      Effect.map(
        Effect.forEach([SUSPECTS.target(target, api), SUSPECTS.pace(target, api)], stateAt, AT_ONCE),
        (states) => worst([connection, ...states]),
      )
    const targets = yield* Effect.forEach(
      registry.of(provider),
      (target) =>
        Effect.map(Effect.forEach(target.apis, stateBy(target), AT_ONCE), (states) => [target, best(states)] as const),
      AT_ONCE,
    )
    const circuits: ProviderCircuits = {
      state: targets.length === 0 ? connection : best(targets.map(([, state]) => state)),
      targets,
    }
    return circuits
  })
}

/** Returns a function that follows a circuit's transition: it updates the gauge and logs one line. */
const makeOnTransition = (registry: TargetRegistry, show: (provider: ProviderId) => Effect.Effect<void>) =>
  Effect.fnUntraced(function* (transition: CircuitBreaker.Transition) {
    const provider = registry.providers.find((id) => transition.key === id || transition.key.startsWith(`${id}/`))
    if (provider === undefined) return
    const name = transition.key.slice(provider.length + 1)
    const suspect: Suspect = name === "" ? "provider" : name.endsWith(PACE) ? "pace" : "target"
    const about = {
      provider,
      ...(name === "" ? {} : { model: registry.label(provider, modelIn(name.replace(PACE, ""))) }),
      suspect,
    }
    yield* show(provider)
    // The account of a tenant concerns its manager, not the operator.
    const ofTenant = isOfTenant(transition.key)
    yield* transition.to === "Open"
      ? Effect.logWithLevel(ofTenant ? "Debug" : "Warn")("Circuit opened").pipe(
          Effect.annotateLogs({ ...about, openForMs: Duration.toMillis(transition.retryAfter) }),
        )
      : Effect.logWithLevel(ofTenant ? "Debug" : "Info")(
          transition.to === "Closed" ? "Circuit closed" : "Circuit probed",
        ).pipe(Effect.annotateLogs(about))
  })

/** Passes a call through its circuits, outermost first. If one refuses, `passed` holds those before it. */
const makeAdmit = (store: Store, note: Note) =>
  Effect.fnUntraced(function* (target: CalledTarget, api: ApiName, passed: Array<Passed>) {
    for (const suspect of OUTERMOST_FIRST) {
      const key = SUSPECTS[suspect](target, api)
      const admission = yield* Effect.catchReason(
        store.admit(key),
        "CircuitBreakerError",
        "CircuitBreakerStoreError",
        // A circuit whose store fails lets the call through and gets no report.
        () => Effect.undefined,
      )
      if (admission === undefined) continue
      passed.push({ suspect, key, admission })
      if (admission.transition !== undefined) yield* note(admission.transition)
    }
  })

/** Returns a function that runs a call as a probe of these circuits. Its result waits for the report of early success. */
const makeProbing =
  (record: (passed: Passed, outcome: CircuitBreaker.Outcome) => Effect.Effect<void>) =>
  <A, E, R>(probes: ReadonlyArray<Passed>, call: (permit: CircuitPermit) => Effect.Effect<A, E, R>) =>
    Effect.contextWith((context: Context.Context<never>) => {
      // Ends the probes' generation, so that the report at the end of the call changes nothing.
      const report = Effect.forEach(probes, (probe) => record(probe, CircuitBreaker.success), { discard: true })
      let early: Fiber.Fiber<void> | undefined
      const permit: CircuitPermit = {
        working: () => {
          early ??= Effect.runForkWith(context)(report)
        },
        isProbe: () => early === undefined,
      }
      return Effect.onExit(call(permit), () => (early === undefined ? Effect.void : Fiber.await(early)))
    })

/**
 * The library's breaker guards one key. A call passes three, so they are asked here: in one scope, with one mask, and
 * without a stream of transitions. The store defines circuits and when they open.
 */
export const makeCircuits = Effect.fnUntraced(function* (
  settings: UpstreamSettings["circuit"],
  registry: TargetRegistry,
): Effect.fn.Return<Circuits, never, CircuitBreaker.CircuitBreakerStore | Scope.Scope> {
  const store = yield* CircuitBreaker.CircuitBreakerStore
  const scope = yield* Effect.scope
  const statesOf = makeStatesOf(store, registry)
  const show = (provider: ProviderId) => Effect.flatMap(statesOf(provider), ({ state }) => showCircuit(provider, state))
  // A circuit's open time ends without an event, so its state is read with the metrics.
  const showAll = Effect.forEach(registry.providers, show, { discard: true })
  yield* showAll
  yield* measure(showAll)
  const onTransition = makeOnTransition(registry, show)
  const note = (transition: CircuitBreaker.Transition | undefined) =>
    transition === undefined ? Effect.void : Effect.asVoid(Effect.forkIn(onTransition(transition), scope))
  const record = makeRecord(settings, store, note)
  const admit = makeAdmit(store, note)
  const probing = makeProbing(record)

  /** Reports the end of a call to the circuits that it passed. */
  const recordAll = Effect.fnUntraced(function* (passed: ReadonlyArray<Passed>, exit: Exit.Exit<unknown, CallFailure>) {
    for (const each of passed.toReversed()) yield* record(each, outcomeFor(each.suspect, exit))
  })

  return {
    guard: (target, api, call) =>
      Effect.uninterruptibleMask((restore) => {
        const admissions = Scope.makeUnsafe()
        const passed: Array<Passed> = []
        const permitted = Effect.flatMap(Scope.provide(admit(target, api, passed), admissions), () => {
          const probes = passed.filter(({ admission }) => admission.probe)
          if (probes.length === 0) return restore(call(NO_PROBE))
          return probing(probes, (permit) => restore(call(permit)))
        })
        return Effect.onExit(permitted, (exit) =>
          Effect.onExit(recordAll(passed, exit), () => Scope.close(admissions, exit)),
        )
      }),
    statesOf,
  }
})

/** The permit of a call whose circuits are all closed. */
const NO_PROBE: CircuitPermit = { working: () => undefined, isProbe: () => false }
