import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { NewSchedule, nextTime } from "../../../src/domain/jobs/schedule.ts"

const next = (cron: string, after: string, time_zone?: string) => {
  const time = nextTime({ cron, ...(time_zone === undefined ? {} : { time_zone }) }, Date.parse(after))
  return time === undefined ? undefined : new Date(time).toISOString()
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Lord Howe repeats half an hour, Havana and the Azores change around midnight, and Casablanca around Ramadan. */
const ZONES = [
  "Europe/Oslo",
  "America/New_York",
  "America/Havana",
  "Atlantic/Azores",
  "Australia/Lord_Howe",
  "Africa/Casablanca",
  "America/St_Johns",
] as const

/** The hours in which the offset of a zone changes in 2026. */
const changesOf = (zone: string): ReadonlyArray<number> => {
  const format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" })
  const offsetAt = (time: number) => format.format(time).replace(/.*GMT/, "")
  const changing = (from: number, step: number, count: number) =>
    Array.from({ length: count }, (_, i) => from + i * step).filter((at) => offsetAt(at) !== offsetAt(at + step))
  return changing(Date.UTC(2026), DAY, 365).flatMap((day) => changing(day, HOUR, 24))
}
const CHANGES = ZONES.flatMap((time_zone) => changesOf(time_zone).map((at) => ({ time_zone, at })))

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

describe("the next time of a schedule", () => {
  it("is the first match after the given time, in UTC by default", () => {
    assert.strictEqual(next("0 7 * * 1-5", "2026-11-27T07:00:00Z"), "2026-11-30T07:00:00.000Z")
    assert.strictEqual(next("*/15 * * * *", "2026-11-27T07:00:01Z"), "2026-11-27T07:15:00.000Z")
  })

  it("follows the summer time of its zone", () => {
    assert.strictEqual(next("0 7 * * *", "2026-03-28T12:00:00Z", "Europe/Oslo"), "2026-03-29T05:00:00.000Z")
    assert.strictEqual(next("0 7 * * *", "2026-10-24T12:00:00Z", "Europe/Oslo"), "2026-10-25T06:00:00.000Z")
  })

  it("is in both hours that the end of summer time repeats, if the hour is an asterisk", () => {
    assert.strictEqual(next("*/30 * * * *", "2026-10-25T00:30:00Z", "Europe/Oslo"), "2026-10-25T01:00:00.000Z")
    assert.strictEqual(next("*/5 * * * *", "2026-11-01T05:55:00Z", "America/New_York"), "2026-11-01T06:00:00.000Z")
    assert.strictEqual(next("0 */2 * * *", "2026-10-25T00:00:00Z", "Europe/Oslo"), "2026-10-25T01:00:00.000Z")
    assert.strictEqual(next("0 2 * * *", "2026-10-25T00:00:00Z", "Europe/Oslo"), "2026-10-26T01:00:00.000Z")
  })

  it.prop(
    "is never further away than the minutes of a schedule for every hour",
    { change: between(0, CHANGES.length - 1), minutes: Schema.Literals([5, 10, 15, 30]), start: between(-3 * HOUR, 0) },
    ({ change, minutes, start }) => {
      const { at = 0, time_zone = "" } = CHANGES[change] ?? {}
      for (let time = at + start; time < at + 3 * HOUR;) {
        const upcoming = nextTime({ cron: `*/${minutes} * * * *`, time_zone }, time) ?? Infinity
        assert.isAtMost(upcoming - time, minutes * MINUTE, `${time_zone} ${new Date(time).toISOString()}`)
        time = upcoming
      }
    },
    { arbitrary: { runs: 50 } },
  )

  it.prop(
    "is once on each day, for a schedule with an hour",
    { change: between(0, CHANGES.length - 1), hour: between(0, 23), minute: between(0, 59) },
    ({ change, hour, minute }) => {
      const { at = 0, time_zone = "" } = CHANGES[change] ?? {}
      const dayIn = new Intl.DateTimeFormat("sv", { timeZone: time_zone })
      let time = at - 3 * DAY
      const days = Array.from({ length: 6 }, () => {
        time = nextTime({ cron: `${minute} ${hour} * * *`, time_zone }, time) ?? Infinity
        return dayIn.format(time)
      })
      const first = Date.parse(days[0] ?? "")
      assert.deepStrictEqual(
        days,
        days.map((_, i) => new Date(first + i * DAY).toISOString().slice(0, 10)),
        time_zone,
      )
    },
    { arbitrary: { runs: 100 } },
  )

  it("is on either kind of day if both are limited, and undefined for steps of both", () => {
    assert.strictEqual(next("0 0 31 2 1", "2026-11-27T00:00:00Z"), "2027-02-01T00:00:00.000Z")
    assert.strictEqual(next("0 0 29 2 *", "2026-11-27T00:00:00Z"), "2028-02-29T00:00:00.000Z")
    assert.strictEqual(next("0 0 */10 * *", "2026-11-27T00:00:00Z"), "2026-12-01T00:00:00.000Z")
    assert.isUndefined(next("0 0 1 * */2", "2026-11-27T00:00:00Z"))
    assert.isUndefined(next("0 0 */2 * 1", "2026-11-27T00:00:00Z"))
  })

  it("does not exist for days, fields or zones that do not", () => {
    for (const [cron, zone] of [
      ["0 0 31 2 *", "UTC"],
      ["0 0 31 2,4,6,9,11 *", "Europe/Oslo"],
      ["0 25 * * *", "UTC"],
      ["0 7 * *", "UTC"],
      ["x", "UTC"],
      ["0 7 * * *", "Mars/Olympus"],
    ] as const) {
      assert.isUndefined(next(cron, "2026-11-27T00:00:00Z", zone), `${cron} ${zone}`)
    }
  })
})

describe("a schedule that is refused", () => {
  const mistake = (cron: string): string => {
    const plan = { agent_id: "01890a5d-ac96-774b-bcce-b302099a8057", cron, request: { task: "x" } }
    try {
      Schema.decodeUnknownSync(NewSchedule)(plan)
      return ""
    } catch (error) {
      return String(error)
    }
  }

  it("names the first wrong field and its values", () => {
    for (const [cron, words] of [
      ["61 7 * * *", "the minute is not from 0 to 59"],
      ["*/90 24 * * *", "the minute is not from 0 to 59"],
      ["0 24 * * *", "the hour is not from 0 to 23"],
      ["0 7 0 * *", "the day of the month is not from 1 to 31"],
      ["0 7 * 13 *", "the month is not from 1 to 12 or jan to dec"],
      ["0 7 * * mo", "the day of the week is not from 0 to 7 or sun to sat"],
      ["0 7 5-1 * *", "the day of the month is not"],
      ["0 7 * *", "five fields"],
      ["0 0 7 * * *", "five fields"],
    ] as const) {
      assert.include(mistake(cron), words, cron)
    }
  })
})
