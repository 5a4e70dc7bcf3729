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
  { id: 'overview', title: 'Overview', key: '1', about: 'model', render: (app) => html`<assay-overview .app=${app}></assay-overview>` },
  { id: 'matrix', title: 'Layers', key: '2', about: 'model', render: (app) => html`<assay-matrix .app=${app}></assay-matrix>` },
  { id: 'ridge', title: 'Ridge', key: '3', about: 'tensor', render: (app) => html`<assay-ridge .app=${app}></assay-ridge>` },
  { id: 'tensor', title: 'Tensor', key: '4', about: 'tensor', render: (app) => html`<assay-tensor .app=${app}></assay-tensor>` },
  { id: 'compare', title: 'Compare', key: '5', about: 'pair', render: (app) => html`<assay-compare .app=${app}></assay-compare>` },
  { id: 'bytes', title: 'Bytes', key: '6', about: 'tensor', render: (app) => html`<assay-bytes .app=${app}></assay-bytes>` },
  { id: 'findings', title: 'Findings', key: '7', about: 'model', render: (app) => html`<assay-findings .app=${app}></assay-findings>` },
  { id: 'scan', title: 'Code', key: '8', about: 'model', render: (app) => html`<assay-scan .app=${app}></assay-scan>` },
  { id: 'metadata', title: 'Metadata', key: '9', about: 'model', render: (app) => html`<assay-metadata .app=${app}></assay-metadata>` },
  { id: 'experts', title: 'Experts', key: 'x', about: 'model', render: (app) => html`<assay-experts .app=${app}></assay-experts>` },
];
