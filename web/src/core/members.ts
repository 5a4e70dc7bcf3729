// SPDX-License-Identifier: Apache-2.0
// The members of zips and what is known of their check sums, from the document of `verify`. Pure.
import type { Document } from './protocol.js';

/** Of a member's CRC-32: not compared yet, compared, never stored (0 in the directory), or its bytes cannot be unpacked. */
export type CrcState = 'unchecked' | 'matches' | 'differs' | 'unknown' | 'unread';
export interface Member {
  file: string;
  name: string;
  /** Of the local header, then of the data; absolute. */
  header_offset: number;
  offset: number;
  packed: number;
  size: number;
  method: string;
  crc_32: number;
  state: CrcState;
  computed?: number;
  error?: string;
}

function membersOf(document: Document, file: string): Member[] {
  return ((document['members'] ?? []) as Member[]).filter((member) => member.file === file);
}
/** Of the document that knows more; null before there is any. */
export function knownMembers(reports: ReadonlyMap<string, Document>, file: string): Member[] | null {
  const document = reports.get('verify') ?? reports.get('verify-headers');
  return document === undefined ? null : membersOf(document, file);
}
export const isDamaged = ({ state }: Member) => state === 'differs' || state === 'unread';
/** What is wrong first, then as they lie in the file. */
export function worstFirst(members: readonly Member[]): Member[] {
  const rank = ({ state }: Member) => (state === 'differs' ? 0 : state === 'unread' ? 1 : 2);
  return [...members].sort((a, b) => rank(a) - rank(b) || a.header_offset - b.header_offset);
}
/** The member that a byte belongs to: its local header or its data. `members` in order of offsets. */
export function memberAt(members: readonly Member[], offset: number): Member | undefined {
  return members.find((member) => offset >= member.header_offset && offset < Math.max(member.offset + member.packed, member.header_offset + 1));
}
export const crcText = (crc: number) => crc.toString(16).padStart(8, '0');
export function crcWords({ state, crc_32, computed, error }: Member): string {
  switch (state) {
    case 'unchecked':
      return 'not checked';
    case 'matches':
      return 'matches';
    case 'unknown':
      return 'unknown: none was stored (0)';
    case 'differs':
      return `wrong: the bytes give ${crcText(computed ?? 0)}, not ${crcText(crc_32)}`;
    case 'unread':
      return `cannot be unpacked: ${error ?? ''}`;
  }
}
