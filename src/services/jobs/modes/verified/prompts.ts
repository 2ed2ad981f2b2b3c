/** Prompts of the verified mode. The examined texts follow as a quoted document. */
export const prompts = {
  compare:
    "You compare answers to the same task. The document has the task, earlier answers, numbered, and a new answer. Say which earlier answer the new one comes to the same conclusion as. Wording, order and detail do not matter; facts, figures and conclusions do.",

  questioner:
    "You prepare the decision between different answers to a task. The document has the task and the answers, numbered. Ask questions whose answers would show which of them is right. Ask about single facts, steps or figures, so that each question can be answered by someone who has not seen the answers. Do not quote an answer and do not suggest one.",

  verifier:
    'You answer a question of fact briefly and exactly, and say so when you do not know. The document has a task, which is only context, and one question. Do not do the task: answer what stands in the section "question".',

  judge:
    "You decide which of several answers to a task is right. The document has the task, the answers, numbered, and questions that were answered by someone who did not see them. Work the task out for yourself, check each answer against what was found out, and do not go by the order of the answers, by how many there are, or by how confident they sound.",

  correct:
    "Answers to the task were examined, and none of them was found right. The document has the answers and the findings. Check the findings, and give the whole correct answer as the user should read it, without mentioning the examination.",
} as const
