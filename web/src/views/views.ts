// SPDX-License-Identifier: Apache-2.0
import { html } from 'lit';
import './bytes-view.js';
import './compare-view.js';
import './experts-view.js';
import './findings-view.js';
import './matrix-view.js';
import './metadata-view.js';
import './overview.js';
import './ridge-view.js';
import './scan-view.js';
import './tensor-view.js';
import type { View } from './view.js';

export const VIEWS: readonly View[] = [
  { id: 'overview', title: 'Overview', what: 'what the file is, and which layers are unlike the others', key: '1', about: 'model', render: (app) => html`<assay-overview .app=${app}></assay-overview>` },
  { id: 'matrix', title: 'Layers', what: 'one number of every tensor, layers down and tensors across: what differs is seen at once', key: '2', about: 'model', render: (app) => html`<assay-matrix .app=${app}></assay-matrix>` },
  { id: 'ridge', title: 'Histograms', what: 'the histograms of one tensor in all layers, one below the other', key: '3', about: 'tensor', render: (app) => html`<assay-ridge .app=${app}></assay-ridge>` },
  { id: 'tensor', title: 'Tensor', what: 'the picture of all values of a tensor, down to single numbers, and their histogram', key: '4', about: 'tensor', render: (app) => html`<assay-tensor .app=${app}></assay-tensor>` },
  { id: 'compare', title: 'Compare', what: 'two models: which tensors changed, by how much, and where', key: '5', about: 'pair', render: (app) => html`<assay-compare .app=${app}></assay-compare>` },
  { id: 'bytes', title: 'Bytes', what: 'what every byte of the file is for; bytes beside the values they hold', key: '6', about: 'tensor', render: (app) => html`<assay-bytes .app=${app}></assay-bytes>` },
  { id: 'findings', title: 'Findings', what: 'what is damaged or odd, and what to do about it', key: '7', about: 'model', render: (app) => html`<assay-findings .app=${app}></assay-findings>` },
  { id: 'scan', title: 'Code', what: 'what would run if a program loaded the file', key: '8', about: 'model', render: (app) => html`<assay-scan .app=${app}></assay-scan>` },
  { id: 'metadata', title: 'Metadata', what: 'what the file holds besides tensors', key: '9', about: 'model', render: (app) => html`<assay-metadata .app=${app}></assay-metadata>` },
  { id: 'experts', title: 'Experts', what: 'a mixture of experts: which are dead, the same or alike', key: 'x', about: 'model', empty: (app) => (app.model === null || app.model.moe['detected'] === true ? '' : 'this model has no experts'), render: (app) => html`<assay-experts .app=${app}></assay-experts>` },
];
