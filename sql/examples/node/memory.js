// A memory for a Node application, over a pool of the package pg.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

// A stale snapshot, a deadlock: the transaction was rolled back, and is run again.
const RETRIED = new Set(["40001", "40P01"]);
const ATTEMPTS = 10;

/** A refusal of the store: `name` is the rule's, `field` the argument's; it never holds a body. */
export class Refusal extends Error {
  constructor(error) {
    super(error.message, { cause: error });
    this.name = error.constraint;
    this.field = error.column || null;
    this.hint = error.hint;
    // Of a memory that breaks rules: all of them, as objects with name, field and message.
    this.violations = error.code === "23514" ? JSON.parse(error.detail) : [];
  }
}

export class Memory {
  #pool;

  constructor(pool) {
    this.#pool = pool;
  }

  /** The account with the application's own id; created where it is missing. */
  async account(externalRef) {
    const [{ id }] = await this.#query("select memstore.create_user(external_ref => $1) as id", [externalRef]);
    return id;
  }

  /** Remembers one thing. The id makes a repeated call return the same memory. */
  async remember(actor, body, { bucket = "user", sourceRef = null, id = randomUUID() } = {}) {
    const [memory] = await this.#query(
      `select * from memstore.insert_memory(
        actor => $1, body => $2, bucket => $3, source_ref => $4, id => $5)`,
      [actor, body, bucket, sourceRef, id],
    );
    return memory;
  }

  /** Remembers many things, or none: objects with the arguments of insert_memory. */
  async rememberAll(actor, memories) {
    // As JSON: pg would make a PostgreSQL array of an array. A text that is none is refused without being quoted.
    return this.#query("select * from memstore.insert_memories($1, memstore.read_json($2))", [
      actor,
      JSON.stringify(memories),
    ]);
  }

  /** Replaces a memory; the old one stays in its history. */
  async correct(actor, target, body, { id = randomUUID() } = {}) {
    const [memory] = await this.#query(
      "select * from memstore.supersede_memory(actor => $1, target => $2, body => $3, id => $4)",
      [actor, target, body, id],
    );
    return memory;
  }

  /** Forgets a memory. */
  async forget(actor, id) {
    const [memory] = await this.#query("select * from memstore.delete_memory($1, $2)", [actor, id]);
    return memory;
  }

  /** For one turn of a conversation: the `note` to put before it, the `memories` in it, how many were `dropped`. */
  async recall(actor, query) {
    const [recalled] = await this.#query("select * from memstore.recall($1, $2)", [actor, query]);
    return recalled;
  }

  async #query(text, values) {
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.#pool.query(text, values)).rows;
      } catch (error) {
        if (RETRIED.has(error.code) && attempt < ATTEMPTS) {
          await sleep(Math.random() * 5 * 2 ** attempt);
        } else if (error.schema === "memstore") {
          throw new Refusal(error);
        } else {
          throw error;
        }
      }
    }
  }
}
