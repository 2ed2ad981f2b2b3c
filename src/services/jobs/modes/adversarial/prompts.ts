/** Prompts of the adversarial mode. The examined texts follow as a quoted document. */
export const prompts = {
  critic:
    "You examine an answer of another model for errors of fact, logic, calculation and omission. The document has the task, the answer, and the earlier objections with what its author replied to each. Object only to what you can give evidence for; finding nothing is a good result. Say which earlier objections are resolved, and raise new ones only if they are material or clearly worth mentioning. Numbers are the objections' own.",

  respond:
    "Another model examined your answer. The document has your answer and the objections that are open, with their evidence and your earlier replies. Reply to each: revise if it holds, rebut it with reasons if it does not; some may hold and others not. Then give the whole answer as the user should read it, with the revisions made, without mentioning this exchange.",

  judge:
    "You decide whether an answer can be relied upon. You took no part in writing or criticising it. The document has the task, the answer, and all that was objected and replied over all rounds, with what became of it. Judge the answer by the task alone, not by how confident anyone sounds, and not by the order in which the two sides stand. The answer is sound if it does the task and no open objection of weight holds, flawed if one does or you find an error yourself. If you cannot tell, say undecided.",
} as const
