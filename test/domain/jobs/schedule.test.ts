import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { NewSchedule, nextTime } from "../../../src/domain/jobs/schedule.ts"

const next = (cron: string, after: string, time_zone?: string) => {
  const time = nextTime({ cron, ...(time_zone === undefined ? {} : { time_zone }) }, Date.parse(after))
  return time === undefined ? undefined : new Date(time).toISOString()
}

describe("the next time of a schedule", () => {
  it("is the first match after the given time, in UTC by default", () => {
    assert.strictEqual(next("0 7 * * 1-5", "2026-11-27T07:00:00Z"), "2026-11-30T07:00:00.000Z")
    assert.strictEqual(next("*/15 * * * *", "2026-11-27T07:00:01Z"), "2026-11-27T07:15:00.000Z")
  })

  it("follows the summer time of its zone", () => {
    assert.strictEqual(next("0 7 * * *", "2026-03-28T12:00:00Z", "Europe/Oslo"), "2026-03-29T05:00:00.000Z")
    assert.strictEqual(next("0 7 * * *", "2026-10-24T12:00:00Z", "Europe/Oslo"), "2026-10-25T06:00:00.000Z")
  })

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
