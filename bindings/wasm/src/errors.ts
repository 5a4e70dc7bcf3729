// SPDX-License-Identifier: Apache-2.0

/** assay_status. */
export const Status = {
  ok: 0,
  usage: 1,
  io: 2,
  notACheckpoint: 3,
  malformed: 4,
  limit: 5,
  unsupported: 6,
  needRange: 7,
  outOfMemory: 8,
  internal: 9,
} as const;

/** Where something is wrong: a file of the set, a member of an archive, a tensor; offset and length in bytes of the file. */
export interface Where {
  file?: string;
  member?: string;
  tensor?: string;
  offset?: number;
  length?: number;
}

/** Why something could not be done. `code` is stable: "git-lfs-pointer"; `hint` says what to do, where something can be said. */
export class AssayError extends Error {
  override readonly name = 'AssayError';
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly where: Where,
  ) {
    super(message);
  }
}
