//! Derives the layout of objects from the versions of a package.

use crate::{
    summary::Summary,
    version::{custom, ue4, ue5},
};

/// The parts that objects of this package have, and their sizes.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub ue4: i32,
    pub ue5: i32,
    /// Editor-only data has been stripped.
    pub stripped: bool,
    /// Pins are stored inside their node (`EdGraphPinOptimized`).
    pub pins_in_nodes: bool,
    /// Names of pins are in the name table, not strings (`PinsStoreFName`).
    pub pins_have_names: bool,
    /// A number marks a pin as array, set or map (`EdGraphPinContainerType`).
    pub pin_container: bool,
    /// A pin may be a set or a map (`AdvancedContainerSupport`).
    pub pin_sets: bool,
    /// A pin's type has a flag for object wrappers (`PinTypeIncludesUObjectWrapperFlag`).
    pub pin_wrapper: bool,
    /// A pin's type may ask for single precision
    /// (`SerializeFloatPinDefaultValuesAsSinglePrecision`).
    pub pin_precision: bool,
    /// A pin has its source index (`EdGraphPinSourceIndex`).
    pub pin_source: bool,
    /// Empty texts may have an invariant string (`CultureInvariantTextSerializationKeyStability`).
    pub text_invariant: bool,
    /// Number formats may always show a sign (`AddedAlwaysSignNumberFormattingOption`).
    pub text_sign: bool,
    /// Whole numbers in arguments of a text have 64 bits (`TextFormatArgumentData64bitSupport`).
    pub text_wide: bool,
    /// A text has developer notes, since 5.8.
    pub text_notes: bool,
    /// Inputs of materials are stored natively (`MaterialInputNativeSerialize`).
    pub material_inputs: bool,
    /// Variables of Niagara are stored natively (`VariablesUseTypeDefRegistry`).
    pub niagara_variables: bool,
    /// Names of curves have a number (until `RemoveUIDFromSmartNameSerialize`).
    pub smart_name_id: bool,
    /// Names of curves have a GUID (until `SmartNameRefactorForDeterministicCooking`).
    pub smart_name_guid: bool,
    /// Channels of sequences are stored natively (`SerializeFloatChannelCompletely`).
    pub native_channels: bool,
    /// Channels of sequences tell whether the editor shows them (`SerializeFloatChannelShowCurve`).
    pub channel_is_shown: bool,
    /// The version of property bags (`FPropertyBagCustomVersion`).
    pub property_bag: i32,
    /// Number of entries in the soft object path table.
    pub soft_paths: usize,
}

impl Layout {
    pub fn of(summary: &Summary<'_>, soft_paths: usize) -> Self {
        let (framework, blueprints) =
            (summary.custom(custom::FRAMEWORK), summary.custom(custom::BLUEPRINTS));
        let (editor, release) = (summary.custom(custom::EDITOR), summary.custom(custom::RELEASE));
        let ue5_stream = summary.custom(custom::UE5_RELEASE);
        let (fortnite, animation) =
            (summary.custom(custom::FORTNITE_MAIN), summary.custom(custom::ANIM_PHYS));
        Self {
            ue4: summary.versions.ue4,
            ue5: summary.versions.ue5,
            stripped: summary.is_stripped(),
            pins_in_nodes: blueprints >= 4,
            pins_have_names: framework >= 31,
            pin_container: framework >= 26,
            pin_sets: blueprints >= 6,
            pin_wrapper: release >= 32,
            pin_precision: ue5_stream >= 36,
            pin_source: summary.custom(custom::UE5_MAIN) >= 50,
            text_invariant: editor >= 32,
            text_sign: editor >= 20,
            text_wide: ue5_stream >= 12,
            text_notes: fortnite >= 259,
            material_inputs: summary.custom(custom::CORE) >= 1,
            niagara_variables: summary.custom(custom::NIAGARA) >= 64,
            smart_name_id: animation < 5,
            smart_name_guid: animation < 10 && !summary.is_stripped(),
            native_channels: summary.custom(custom::SEQUENCER) >= 12 || fortnite >= 53,
            channel_is_shown: fortnite >= 53,
            property_bag: summary.custom(custom::PROPERTY_BAG),
            soft_paths,
        }
    }

    /// Whether vectors have 64-bit components.
    pub fn large_worlds(&self) -> bool {
        self.ue5 >= ue5::LARGE_WORLDS
    }

    /// Whether texts have a history.
    pub fn text_history(&self) -> bool {
        self.ue4 >= ue4::TEXT_HISTORY
    }
}
