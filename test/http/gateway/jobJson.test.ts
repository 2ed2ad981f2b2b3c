/** Jobs and steps are written without their schemas, and hold what these would have written. */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { Job, JobStep } from "../../../src/domain/jobs/job.ts"
import { jobJson, stepJson } from "../../../src/http/gateway/jobJson.ts"

const encodeJob = Schema.encodeSync(Job)
const encodeStep = Schema.encodeSync(JobStep)

it.prop("a job is written as its schema has it", [Job], ([job]) => {
  assert.deepStrictEqual(JSON.parse(jobJson(job)), JSON.parse(JSON.stringify(encodeJob(job))))
})

it.prop("a step is written as its schema has it", [JobStep], ([step]) => {
  assert.deepStrictEqual(JSON.parse(stepJson(step)), JSON.parse(JSON.stringify(encodeStep(step))))
})
