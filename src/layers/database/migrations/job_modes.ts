/**
 * Steps are kept as data, and results say which mode they are of. Older results get the members that they lack: whose
 * objection was raised in which round, and who said what, is known of none of them.
 */
export const jobModes: ReadonlyArray<string> = [
  `ALTER TABLE job_steps ADD COLUMN step TEXT`,
  // Quotes inside of texts are escaped, so what is replaced is the beginning of an objection and nothing else.
  `UPDATE jobs SET result = replace('{"mode":"adversarial","calibrated":false,' || substr(result, 2),
    '{"claim":', '{"id":0,"round":0,"evidence":"","replies":[],"claim":')
    WHERE result IS NOT NULL AND mode = 'adversarial'`,
  `UPDATE jobs SET result = '{"mode":"verified","confidence":null,"answers":[],' || substr(result, 2)
    WHERE result IS NOT NULL AND mode = 'verified'`,
]
