// npm install && DATABASE_URL=postgresql://support_bot@host/agents npm start

import pg from "pg";
import { Memory, Refusal } from "./memory.js";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
// An idle connection that breaks emits this; without a listener it would end the process.
pool.on("error", (error) => console.error("PostgreSQL:", error.message));

try {
  const memory = new Memory(pool);
  const actor = await memory.account("customer-7");

  const { id } = await memory.remember(actor, "I use npm.");
  await memory.correct(actor, id, "I use pnpm, not npm.");
  const { note } = await memory.recall(actor, "Install the deps with npm.");
  console.log(note);

  try {
    await memory.correct(actor, id, "I use yarn.");
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.log(`${error.name}: ${error.message}`);
  }

  try {
    await memory.remember(actor, " ", { bucket: "private" });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    for (const { field, message } of error.violations) console.log(`${field}: ${message}`);
  }
} finally {
  await pool.end();
}
