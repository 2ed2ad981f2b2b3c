/**
 * Sends steps to the followers of a job as they begin, and their texts as they are written, whichever process works on the
 * job. Nothing is stored, and without followers nothing is sent.
 *
 * A follower announces itself repeatedly, because another process may take the job over. A worker sends new text in small
 * pieces. A follower that lacks a piece asks for it, so slow or late followers delay neither the others nor the worker. The
 * finished step contains the whole text, so lost pieces do no harm.
 */
import { Clock, Context, Duration, Effect, Layer, Option, Queue, Schedule, Schema, Stream } from "effect"
import type { JobId } from "../../domain/jobs/job.ts"
import { JobStepBegun, JobToolCall } from "../../domain/jobs/jobEvents.ts"
import { ENDS_IN_HALF } from "../../domain/json/surrogates.ts"
import { KeyedSets } from "../KeyedSets.ts"
import { begun, JobSignals, more, text as textTopic, watched } from "./JobSignals.ts"

const ANNOUNCED_EVERY = Duration.seconds(5)
/** How long a job counts as followed after an announcement. */
const FOLLOWED_FOR = Duration.seconds(12)
/** Buffered events for a slow follower. If there are more, it loses the oldest and asks for them. */
const KEPT = 64
const SENT_EVERY = Duration.millis(100)
/** Characters of a text in one signal, which Postgres limits to less than 8000 bytes. */
const PIECE = 1800
/** Live texts end at this length. The finished step contains the rest. */
const MAX_TEXT = 256 * 1024

/** A step that begins: a call of a model or of a tool. */
export type Begun = JobStepBegun | JobToolCall

/** A piece of a step's text. `since` is when the text began; `sent` is up to where it was sent to followers. */
export interface TextPiece {
  readonly name: string
  readonly since: number
  readonly at: number
  readonly sent: number
  readonly text: string
}

/** A live event of a running step. `hasText`: whether followers get its text. */
export type LiveEvent =
  | { readonly _tag: "Begun"; readonly step: Begun; readonly hasText: boolean }
  | { readonly _tag: "Piece"; readonly piece: TextPiece }

/** A running step at its worker. */
export interface LiveStep {
  /** When its text began, in milliseconds since the epoch. */
  readonly since: () => number
  readonly add: (text: string) => void
  /** Discards the text so far, because the model begins again. */
  readonly restart: () => void
  readonly end: () => void
}

interface LiveStepsService {
  /** Announces that a step has begun, and whether followers get its text. It is running until its `end`. */
  readonly begin: (job: JobId, step: Begun, hasText?: boolean) => Effect.Effect<LiveStep>
  /** The job's steps as they begin, running ones first and repeatedly, and pieces of texts. The stream does not end. */
  readonly follow: (job: JobId) => Stream.Stream<LiveEvent>
  readonly ask: (job: JobId, name: string, at: number) => Effect.Effect<void>
}

const UNHEARD: LiveStep = { since: () => 0, add: () => undefined, restart: () => undefined, end: () => undefined }

/** Sends nothing by default. */
export const LiveSteps = Context.Reference<LiveStepsService>("sealgate/services/jobs/LiveSteps", {
  defaultValue: () => ({ begin: () => Effect.succeed(UNHEARD), follow: () => Stream.never, ask: () => Effect.void }),
})
export type LiveSteps = LiveStepsService

export const layerLiveSteps: Layer.Layer<never, never, JobSignals> = Layer.effect(
  LiveSteps,
  Effect.gen(function* () {
    const signals = yield* JobSignals
    const followers = new KeyedSets<Queue.Queue<LiveEvent>>()
    const worker = yield* makeWorker(signals)

    const hear = (job: string, event: () => Option.Option<LiveEvent>) => {
      const heard = followers.of(job).size === 0 ? Option.none() : event()
      if (Option.isSome(heard)) for (const queue of followers.of(job)) Queue.offerUnsafe(queue, heard.value)
    }

    yield* signals.listen((topic) => {
      const [kind, job = "", ...rest] = topic.split(":")
      if (kind === "watched") worker.noteFollowed(job)
      else if (kind === "more") worker.resend(job, rest)
      else if (kind === "begun") {
        const hasText = rest[1] !== undefined
        hear(job, () => Option.map(decode(rest[0]), (step): LiveEvent => ({ _tag: "Begun", step, hasText })))
      } else if (kind === "text") {
        hear(job, () => Option.map(decodePiece(rest), (piece): LiveEvent => ({ _tag: "Piece", piece })))
      }
    })

    return {
      begin: worker.begin,
      ask: (job, name, at) => signals.publish(more(job, name, at)),
      follow: (job) =>
        Stream.unwrap(
          Effect.gen(function* () {
            const queue = yield* Queue.sliding<LiveEvent>(KEPT)
            yield* followers.hold(queue, job)
            yield* Effect.forkScoped(Effect.repeat(signals.publish(watched(job)), Schedule.spaced(ANNOUNCED_EVERY)))
            return Stream.fromQueue(queue)
          }),
        ),
    } satisfies LiveStepsService
  }),
)

class Running {
  readonly step: Begun
  readonly hasText: boolean
  since: number
  text = ""
  sent = 0
  /** Whether a send is scheduled. */
  due = false
  private isFull = false

  constructor(step: Begun, hasText: boolean) {
    this.step = step
    this.hasText = hasText
    this.since = step.started_at.epochMilliseconds
  }

  add(text: string): void {
    this.isFull ||= this.text.length + text.length > MAX_TEXT
    if (!this.isFull) this.text += text
  }

  restart(now: number): void {
    if (this.text === "") return
    this.text = ""
    this.sent = 0
    this.isFull = false
    this.since = Math.max(this.since + 1, now)
  }

  /** A piece of the text; empty if there is none. Surrogates stay together. */
  pieceAt(at: number): string {
    const piece = this.text.slice(at, at + PIECE)
    return ENDS_IN_HALF.test(piece) ? piece.slice(0, -1) : piece
  }
}

/** Returns the side of a worker: it notes running steps, and sends them to followers. */
const makeWorker = Effect.fnUntraced(function* (signals: JobSignals["Service"]) {
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context())
  const running = new KeyedSets<Running>()
  const followedUntil = new Map<string, number>()

  const isFollowed = (job: string) => (followedUntil.get(job) ?? 0) > clock.currentTimeMillisUnsafe()
  const announce = (job: string, { hasText, step }: Running) =>
    Effect.flatMap(encode(step), (text) => signals.publish(begun(job, text, hasText)))

  const send = (job: string, { sent, since, step }: Running, at: number, piece: string) => {
    const fields = [step.name, since, at, Math.max(sent, at + piece.length), encodeText(piece)]
    run(signals.publish(textTopic(job, fields.join(":"))))
  }

  const sendNew = (job: string, step: Running): Effect.Effect<void> =>
    Effect.delay(
      Effect.sync(() => {
        step.due = false
        if (!running.of(job).has(step)) return
        const piece = step.pieceAt(step.sent)
        if (piece === "" || !isFollowed(job)) return
        send(job, step, step.sent, piece)
        step.sent += piece.length
        if (step.sent < step.text.length) schedule(job, step)
      }),
      SENT_EVERY,
    )
  const schedule = (job: string, step: Running) => {
    if (step.due) return
    step.due = true
    run(sendNew(job, step))
  }

  return {
    noteFollowed: (job: string) => {
      const isNew = !isFollowed(job)
      const now = clock.currentTimeMillisUnsafe()
      for (const [other, until] of followedUntil) if (until <= now) followedUntil.delete(other)
      followedUntil.set(job, now + Duration.toMillis(FOLLOWED_FOR))
      for (const step of running.of(job)) {
        // A new follower asks for what was written before.
        if (isNew) step.sent = step.text.length
        run(announce(job, step))
      }
    },
    resend: (job: string, [name, from]: ReadonlyArray<string>) => {
      for (const step of running.of(job)) {
        const piece = step.step.name === name ? step.pieceAt(Number(from)) : ""
        if (piece !== "") send(job, step, Number(from), piece)
      }
    },
    begin: (job: JobId, begun: Begun, hasText = false) =>
      Effect.suspend(() => {
        const step = new Running(begun, hasText)
        running.add(job, step)
        const live: LiveStep = {
          since: () => step.since,
          add: (text) => {
            step.add(text)
            if (isFollowed(job)) schedule(job, step)
          },
          restart: () => step.restart(clock.currentTimeMillisUnsafe()),
          end: () => running.remove(job, step),
        }
        return Effect.as(isFollowed(job) ? announce(job, step) : Effect.void, live)
      }),
  }
})

/** As base64url, because a signal's text contains neither spaces nor colons. */
const SignalText = Schema.StringFromBase64Url.pipe(
  Schema.decodeTo(Schema.fromJsonString(Schema.Union([JobStepBegun, JobToolCall]))),
)
const encode = (step: Begun) => Effect.orDie(Schema.encodeEffect(SignalText)(step))
const decode = Schema.decodeUnknownOption(SignalText)

const encodeText = (text: string): string => Buffer.from(text, "utf8").toString("base64url")

/** Reads the fields that `send` writes. */
const decodePiece = ([name, since, at, sent, text]: ReadonlyArray<string>): Option.Option<TextPiece> =>
  name === undefined || text === undefined
    ? Option.none()
    : Option.some({
        name,
        since: Number(since),
        at: Number(at),
        sent: Number(sent),
        text: Buffer.from(text, "base64url").toString("utf8"),
      })
